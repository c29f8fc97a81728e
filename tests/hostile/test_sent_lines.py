"""A line of a command's output is Windtunnel's own: no text of a record, a scenario or a study that somebody sent begins one, as
`::error::` would, which the log of a CI takes for an annotation. Every text of a record says it that may say something else, at its begin too
where it may begin so."""

import json
import shutil
from pathlib import Path

import pytest
from command_line import SCENARIO
from forged_lines import FORGED, LINES, forge, said
from importing import DATA, imported
from net import unpack
from part_samples import part_samples
from study_tools import invoke, on_paper, written

from windtunnel.cli.as_option import FORMATS
from windtunnel.measure.study.record import read as read_study
from windtunnel.runs import load

SAMPLES = (
    *part_samples("KEPT_RUN"),
    "echo",
    "lossy",
    "open-loop",
    "pcap-times",
    "phases",
    "rejected",
    "split",
    "two-processes",
)
IMPORTED = {"testpmd": DATA / "testpmd-macswap.txt"} | {
    tool: text for texts in part_samples("IMPORTED") for tool, text in texts.items()
}
"""Tool -> a text of it."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """Samples of real runs, and texts of other tools as runs."""
    directory = unpack(tmp_path_factory.mktemp("sent")) / "runs"
    for tool, text in IMPORTED.items():
        imported(tool, text, "--out", directory / tool)
    return directory


@pytest.mark.parametrize("sample", [*SAMPLES, *IMPORTED])
def test_no_text_of_a_run_begins_a_line(runs, sample, tmp_path):
    shutil.copytree(runs / sample, tmp_path / "a")
    assert forge(tmp_path / "a/run.json", lambda file: load(file.parent).require_usable(True)) > 10
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    for words in ("show a", "show a b", "show a --format markdown"):
        assert FORGED in said(*words.split(), cwd=tmp_path)
    for words in (
        "compare a b --force",
        "compare a b --force -q",
        *(f"{command} a --include-invalid" for command in part_samples("READING_COMMAND")),
        "history .",
        "history . -q",
        "export a tables --include-invalid",
        "import run tables back",
        "show a --html",
        *(f"show a --as {name} --include-invalid" for name in FORMATS),
    ):
        said(*words.split(), cwd=tmp_path)


def test_no_name_of_a_directory_begins_a_line(runs, tmp_path):
    for name, sample in (("a", "echo"), ("b", "echo"), ("c", "rejected")):
        shutil.copytree(runs / sample, tmp_path / (name + LINES))
    for words in (
        "show a b",
        "show a --html",
        "compare a b --force",
        *(f"{command} c" for command in part_samples("READING_COMMAND")),
        "history a b",
        "export a t",
    ):
        shown = said(*(word + LINES if len(word) == 1 else word for word in words.split()), cwd=tmp_path)
        assert "forged" in shown or "history" in words


@pytest.fixture
def scenario(tmp_path) -> Path:
    """Where there are a scenario and a study with such a title and question, and scenarios that are refused for such names."""
    title = json.dumps(f"{FORGED}##[error]forged\n{FORGED}")
    text = SCENARIO.format(duration="60ms").replace('"L-App echo"', f"{title}\nquestion = {title}")
    (tmp_path / "a.toml").write_text(text)
    (tmp_path / "bad.toml").write_text(text.replace("l_app", f"l_app\\n{FORGED}"))
    keys = f'"a\\n{FORGED}" = 1\n"b\\n{FORGED}" = 1'
    (tmp_path / "worse.toml").write_text(text.replace("[client]", f"[client]\n{keys}"))
    factor = '[[factor]]\nkey = "client.inflight"\nvalues = [32]\n'
    (tmp_path / "study.toml").write_text(
        f'scenario = "a.toml"\nrepeats = 1\ntitle = {title}\nquestion = {title}\n{factor}'
    )
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        "check a.toml bad.toml worse.toml",
        "run a.toml --out out",
        "run a.toml --out out -q",
        "run a.toml --out out --repeat 2",
        "run bad.toml",
        "study study.toml --plan",
        "study study.toml --out out",
        *(f"{command} a.toml --plan" for command in part_samples("PLANNING_COMMAND")),
        "search a.toml --out out --trial 60ms --trial-sum 60ms --bursts 0 --no-latency --within 1s",
    ],
)
def test_no_text_of_a_scenario_begins_a_line(scenario, words):
    said(*words.split(), cwd=scenario)


def test_no_text_of_a_study_begins_a_line(tmp_path):
    file = written(tmp_path)
    with on_paper():
        invoke("study", file, "--out", tmp_path / "out", "-q")
    assert forge(tmp_path / "out" / "study.json", read_study) > 10
    for words in ("study out", "study out --plan", "study far.toml --out out"):
        said(*words.split(), cwd=tmp_path)
    said("study", "query", "from results", "--study", "out", cwd=tmp_path)
    cell = f"x\n{FORGED}"
    query = f"""select '{FORGED}' as "{FORGED}", '{cell}' as "{cell}" from results limit 1"""
    for form in ([], ["--json"], ["--format", "markdown"]):
        assert "forged" in said("study", "query", query, "--study", "out", *form, cwd=tmp_path)
