"""No text of a study, a model or a run that somebody sent begins a line of what a command of models prints."""

import shutil
from pathlib import Path

import pytest
from forged_lines import FORGED, forge, said
from net import unpack
from planted_studies import ENTRIES, HERE, SIZES, a_ladder, a_study

from windtunnel.errors import UserError
from windtunnel.measure.study.record import read as read_study
from windtunnel.parts.models.model_record import read as read_model
from windtunnel.runs import load

pytestmark = pytest.mark.slow


def test_no_text_of_a_run_begins_a_line(tmp_path):
    shutil.copytree(unpack(tmp_path / "sent") / "runs/echo", tmp_path / "a")
    forge(tmp_path / "a" / "run.json", lambda file: load(file.parent).require_usable(True))
    said("model", "what-if", "a", "--set", "server.batch.app_rx=64", "--include-invalid", cwd=tmp_path)


def test_no_text_of_a_model_begins_a_line(tmp_path):
    a_study(tmp_path / "study", lambda point: 20 + point[ENTRIES] / 1e3, {ENTRIES: SIZES})
    forge(tmp_path / "study" / "study.json", check_models)
    (tmp_path / "ladder.json").write_text(a_ladder().model_dump_json())
    said("model", "fit", "study", "--ladder", "ladder.json", "--out", "model.json", cwd=tmp_path)
    assert forge(tmp_path / "model.json", read_model) > 10
    for words in ("validate study --ladder ladder.json", "predict model.json --entries 2M --allow-other-host"):
        assert FORGED in said("model", *words.split(), cwd=tmp_path)


def check_models(file: Path) -> None:
    """Raises UserError for a study that no model can be fitted to."""
    study = read_study(file)
    if study.factors[0].name != "entries" or study.factors[0].keys != [ENTRIES] or study.host != HERE:
        raise UserError("another factor, or another host than the ladder's")
