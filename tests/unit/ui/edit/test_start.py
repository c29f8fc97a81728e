"""Runs that the page starts: they end as in a terminal, whatever becomes of the server."""

import json
import os
import signal
import time

import pytest
from command_line import SCENARIO
from fake_runs import FAKE

from windtunnel.engine import find
from windtunnel.ui.edit.start import KEPT, Started

pytestmark = [pytest.mark.slow, pytest.mark.fake_engine]
WAIT_S = 60


@pytest.fixture
def started(tmp_path, monkeypatch):
    monkeypatch.setenv(find.VARIABLE, str(FAKE))
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    (tmp_path / "mine.toml").write_text(SCENARIO.format(duration="100ms"))
    return Started(tmp_path / "runs")


def ended(started: Started) -> bool:
    """Waits for all; whether one failed."""
    failed = False
    until = time.monotonic() + WAIT_S
    while started._children and time.monotonic() < until:
        failed = started.look() or failed
        time.sleep(0.02)
    assert not started._children
    return failed


def test_a_run_leaves_its_directory(started, tmp_path):
    one, two = started.start(tmp_path / "mine.toml"), started.start(tmp_path / "mine.toml")
    assert one != two
    assert not ended(started)
    assert started.failed == []
    for directory in (one, two):
        assert directory.parent == tmp_path / "runs"
        assert json.loads((directory / "run.json").read_text())["title"] == "L-App echo"
        assert (directory / "report.html").exists()


def test_a_run_has_a_session_of_its_own(started, tmp_path):
    """So that Ctrl-C in the terminal of the server does not reach it."""
    started.start(tmp_path / "mine.toml")
    (child,) = started._children
    assert os.getsid(child.process.pid) == child.process.pid != os.getsid(0)
    ended(started)


def test_a_run_that_is_interrupted_keeps_its_windows(started, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_ENGINE", "until_stopped")
    directory = started.start(tmp_path / "mine.toml")
    until = time.monotonic() + WAIT_S
    while not (directory / "windows.jsonl").exists() and time.monotonic() < until:
        time.sleep(0.02)
    os.kill(started._children[0].process.pid, signal.SIGINT)
    assert not ended(started)
    assert (directory / "run.json").exists()


def test_what_a_run_that_failed_said_is_kept(started, tmp_path):
    (tmp_path / "bad.toml").write_text("duration = 3")
    started.start(tmp_path / "bad.toml")
    assert ended(started)
    (failed,) = started.failed
    assert failed.exit_code == 2
    assert failed.file == "bad.toml"
    assert "bad.toml:1" in failed.words


def test_failed_runs_are_forgotten_in_turn(started, tmp_path):
    for number in range(KEPT + 1):
        (tmp_path / f"{number}.toml").write_text("")
        started.start(tmp_path / f"{number}.toml")
        ended(started)
    assert len(started.failed) == KEPT
    assert started.failed[0].file == f"{KEPT}.toml"
