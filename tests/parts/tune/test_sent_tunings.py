"""A tuning's directory that somebody sent: nothing of it is believed before the user has agreed, and no link in it is followed."""

import json
from pathlib import Path

import pytest
from command_line import in_process
from forged_lines import forge, said
from tuning_tools import MadeUp, tuned

from windtunnel.errors import UserError
from windtunnel.measure.study import seal
from windtunnel.parts.tune.outcome import write_report
from windtunnel.parts.tune.tuner import Tuned
from windtunnel.parts.tune.tuning_record import NAME, read

SECRET = "the private text"
FINAL = {
    "version": 1,
    "trial": 1,
    "pairs": [],
    "difference": 0.2,
    "low": 0.1,
    "high": 0.3,
    "latency": None,
    "confirmed": True,
    "reasons": [],
}


@pytest.fixture
def sent(tmp_path, monkeypatch) -> Path:
    """A tuning that another user began, with a winner that nobody has measured."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of the author"))
    tuned(tmp_path, MadeUp(), budget=1)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    trial = tmp_path / "out" / "trials" / "001" / "trial.json"
    found = {"outcome": "better", "low": 0.2, "high": 0.3, "difference": 0.25, "gain": 0.25}
    trial.write_text(json.dumps(json.loads(trial.read_text()) | found))
    (tmp_path / "out" / "final-001").mkdir(exist_ok=True)
    (tmp_path / "out" / "final-001" / "final.json").write_text(json.dumps(FINAL))
    (tmp_path / "out" / "best.toml").unlink(missing_ok=True)
    (tmp_path / "secret").write_text(SECRET)
    return tmp_path / "out"


def continued(sent: Path, agrees: bool = True) -> Tuned:
    return tuned(sent.parent, MadeUp(), budget=1, from_elsewhere=agrees)


@pytest.mark.parametrize(
    ("file", "values", "named"),
    [
        ("trials/001/trial.json", {"gain": 1000.0}, "gain"),
        ("trials/001/trial.json", {"high": -1e9}, "high"),
        ("trials/001/trial.json", {"pairs": [{"incumbent": 1e-300, "candidate": 1.0, "excluded": None}]}, "incumbent"),
        ("trials/001/trial.json", {"pairs": [{"incumbent": 1.0, "candidate": -1.0, "excluded": None}]}, "candidate"),
        ("final-001/final.json", {"low": 1e300}, "low"),
    ],
)
def test_numbers_that_no_tuning_has_are_refused(sent, file, values, named):
    document = json.loads((sent / file).read_text()) | values
    (sent / file).write_text(json.dumps(document))
    with pytest.raises(UserError, match=rf"{file}.*{named}"):
        continued(sent)


def test_what_another_user_began_goes_on_after_a_question(sent):
    with pytest.raises(seal.BegunElsewhere, match="not begun by you") as asked:
        continued(sent, agrees=False)
    assert "--from-elsewhere" in asked.value.remedy
    continued(sent)
    assert seal.is_own(sent, NAME)
    continued(sent, agrees=False)


def test_the_command_asks(sent):
    words = ("tune", "echo.toml", "--space", "space.toml", "--out", "out", "--budget", "1")
    done = in_process(*words, cwd=sent.parent, XDG_STATE_HOME=str(sent.parent / "state"))
    assert done.returncode == 2 and "not begun by you" in done.stderr
    done = in_process(*words, "--from-elsewhere", cwd=sent.parent, XDG_STATE_HOME=str(sent.parent / "state"))
    assert done.returncode == 0 and "best   out/best.toml" in done.stdout


def test_the_winner_is_written_from_the_settings_of_its_trial(sent):
    for place in (sent, sent / "final-001"):  # a copy in final-001, as for a file of ours
        (place / "best.toml").write_text('[[workload]]\nhandler = "./sent.so"\n')
    found = continued(sent)
    assert found.final is not None and found.final.confirmed
    assert (
        "sent.so" not in found.best_file.read_text() and "changed by the tuner (trial 1)" in found.best_file.read_text()
    )
    assert "sent.so" not in write_report(found).read_text()


@pytest.mark.parametrize("link", ["best.toml", "final-001/best.toml", "final-001", "trials/001", "trials", "aborted"])
def test_no_link_in_it_is_followed(sent, link):
    place, elsewhere = sent / link, sent.parent / "elsewhere"
    if place.is_dir():
        place.rename(elsewhere)
    elif link == "aborted":
        elsewhere.mkdir()
    else:
        elsewhere.write_text(SECRET)
    place.symlink_to(elsewhere)
    with pytest.raises(UserError, match=f"{link}: a link, which is not followed"):
        continued(sent)
    assert not elsewhere.is_file() or elsewhere.read_text() == SECRET


def test_the_report_has_no_text_of_a_file_that_took_the_winners_place(sent, capsys):
    found = continued(sent)
    found.best_file.unlink()
    found.best_file.symlink_to(sent.parent / "secret")
    assert write_report(found) is None and not (sent / "report.html").exists()
    assert "a link, which is not followed" in capsys.readouterr().err


def test_no_text_of_a_tuning_begins_a_line(tmp_path):
    tuned(tmp_path, MadeUp(), budget=3)
    assert forge(tmp_path / "out" / "tuning.json", lambda file: read(file.parent)) > 3
    said("tune", "echo.toml", "--out", "out", "--space", "space.toml", cwd=tmp_path)


def test_a_file_in_the_place_of_its_trials_is_named(sent):
    (sent / "trials").rename(sent.parent / "elsewhere")
    (sent / "trials").touch()
    with pytest.raises(UserError, match="out/trials: cannot be written: File exists"):
        continued(sent)
