"""Asking a program: its end is the end of all that it has started, and what it says comes whole."""

import subprocess

import pytest
from fake_runs import gone

from windtunnel.engine.ask import ENDING_S, Ended, ask

pytestmark = pytest.mark.slow


def test_what_a_program_has_started_ends_with_it():
    """The child holds the output open, and is not waited for."""
    ended = ask(["sh", "-c", "sleep 60 & echo $!; echo no >&2; exit 3"], 30)
    assert (ended.code, ended.errors) == (3, "no\n")
    assert gone(int(ended.output))


def test_a_program_that_does_not_end_is_ended():
    assert ask(["sh", "-c", "sleep 60 & sleep 60"], 0.2) is None


def test_a_signal_and_bytes_that_are_no_text():
    assert ask(["sh", "-c", "printf '\\377'; kill -11 $$"], 30) == Ended(-11, "\ufffd", "")


def test_a_program_that_is_not_there():
    with pytest.raises(OSError, match="No such file"):
        ask(["/nowhere/at/all"], 1)


def test_where_it_works_and_how_much_it_may_write(tmp_path):
    ended = ask(["sh", "-c", "pwd; sleep 0.2; head -c 8192 /dev/zero >file"], 30, directory=tmp_path, most_bytes=4096)
    assert ended.output == f"{tmp_path}\n" and ended.code != 0
    assert (tmp_path / "file").stat().st_size == 4096


def test_a_killed_program_that_cannot_end_is_left(monkeypatch):
    """It may wait in the kernel for a file system that another user serves."""
    waited = []

    def wait(process, timeout=None):
        waited.append(timeout)
        raise subprocess.TimeoutExpired(process.args, timeout)

    with monkeypatch.context() as changed:
        changed.setattr(subprocess.Popen, "wait", wait)
        assert ask(["sleep", "60"], 0.05) is None
    assert waited == [ENDING_S]
