"""Runs that the page starts: they end as in a terminal, whatever becomes of the server."""

import json
import os
import signal

import pytest
from command_line import SCENARIO
from fake_runs import FAKE
from live_tools import awaited

from windtunnel.engine import find
from windtunnel.parts.ui.edit import start
from windtunnel.parts.ui.edit.start import KEPT, StartedRuns

TEXT = SCENARIO.format(duration="100ms")
pytestmark = [pytest.mark.slow]


@pytest.fixture
def started(tmp_path, monkeypatch):
    monkeypatch.setenv(find.VARIABLE, str(FAKE))
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    (tmp_path / "mine.toml").write_text(TEXT)
    return StartedRuns(tmp_path / "runs")


def ended(started: StartedRuns) -> bool:
    """Waits for all; whether one failed."""
    failed = []
    awaited(lambda: failed.append(started.collect_ended()) or not started._children, 60)
    return any(failed)


def test_two_runs_leave_their_directories(started, tmp_path):
    one, two = started.start(tmp_path / "mine.toml", TEXT), started.start(tmp_path / "mine.toml", TEXT)
    assert one != two
    # each has a process group of its own: Ctrl-C in the terminal of the server does not reach it
    for child in started._children:
        assert os.getpgid(child.process.pid) == child.process.pid != os.getpgid(0)
    assert not ended(started)
    assert started.failed == []
    for directory in (one, two):
        assert directory.parent == tmp_path / "runs"
        assert json.loads((directory / "run.json").read_text())["title"] == "L-App echo"
        assert (directory / "report.html").exists()


def test_a_run_that_is_interrupted_keeps_its_windows(started, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_ENGINE", "until_stopped")
    directory = started.start(tmp_path / "mine.toml", TEXT)
    (child,) = started._children
    awaited(lambda: (directory / "windows.jsonl").exists() or child.process.poll() is not None, 60)
    os.kill(child.process.pid, signal.SIGINT)
    assert not ended(started)
    assert (directory / "run.json").exists()


def test_what_a_run_that_failed_said_is_kept(started, tmp_path):
    (tmp_path / "bad.toml").write_text("duration = 3")
    started.start(tmp_path / "bad.toml", "duration = 3")
    assert ended(started)
    (failed,) = started.failed
    assert (failed.exit_code, failed.file) == (2, "bad.toml")
    assert "bad.toml:1" in failed.output


def test_what_runs_is_the_text_that_was_checked(started, tmp_path):
    """The file has another one by the time the run reads it, whose plug-in is not looked for."""
    (tmp_path / "mine.toml").write_text(TEXT.replace("l_app", "./theirs.so"))
    directory = started.start(tmp_path / "mine.toml", TEXT)
    assert ended(started)
    (failed,) = started.failed
    assert "mine.toml: has changed since it was checked" in failed.output
    assert "theirs.so" not in failed.output and not directory.exists()


def test_failed_runs_are_forgotten_in_turn(started, tmp_path, monkeypatch):
    monkeypatch.setattr(start, "_COMMAND", ("false",))
    for number in range(KEPT + 1):
        started.start(tmp_path / f"{number}.toml", "")
        ended(started)
    assert [failed.file for failed in started.failed] == [f"{number}.toml" for number in range(KEPT, 0, -1)]
