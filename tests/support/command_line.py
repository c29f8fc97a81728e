"""The command line as a user types it, with a fake engine behind it."""

import io
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import forked
import pytest
from fake_runs import FAKE
from in_process import command_of

from windtunnel.cli import main

SCENARIO = """\
# What does one small RPC cost, stage by stage?
title = "L-App echo"
duration = "{duration}"
warmup = "20ms"
window = "20ms"

[wire]
kind = "ring"

[client]
inflight = 1024

[server]

[[workload]]
handler = "l_app"
request = 86
response = 86
"""


def windtunnel(*arguments, cwd: Path, behaviour: str = "run", **changes) -> subprocess.CompletedProcess:
    """Runs the command to its end; no traceback may ever be seen."""
    done = forked.run([*arguments], cwd=cwd, env=environment(behaviour, **changes), text=True, timeout=120)
    assert "Traceback" not in done.stderr + done.stdout
    return done


def in_process(*arguments, cwd: Path, behaviour: str = "run", **changes) -> subprocess.CompletedProcess:
    """As `windtunnel`, in this process: what the command prints goes where the test looks, and an error of ours comes through."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(cwd)
        patch.setattr("typer.main.get_command", command_of)
        patch.setattr(sys, "argv", ["windtunnel", *map(str, arguments)])
        for name, value in environment(behaviour, **changes).items():
            patch.setenv(name, value)
        with pytest.raises(SystemExit) as end:
            main()
    return subprocess.CompletedProcess(arguments, end.value.code or 0, out.getvalue(), err.getvalue())


def command(*arguments) -> list[str]:
    """For `subprocess`, where the start itself counts; `forked.Command` starts sooner."""
    return [sys.executable, "-c", "from windtunnel.cli import main; main()", *map(str, arguments)]


def environment(behaviour: str, **changes: str) -> dict[str, str]:
    return os.environ | {"WINDTUNNEL_ENGINE": str(FAKE), "FAKE_ENGINE": behaviour, "COLUMNS": "100"} | changes


@contextmanager
def hanging(*arguments, cwd: Path, at: int, windows: str, files: int = 1, **changes) -> Iterator[subprocess.Popen[str]]:
    """The command in a process of its own, whose `at`-th run stands still: once so many files of this pattern have a window."""
    variables = environment("run", FAKE_HANG_AT=str(at), FAKE_MARK=str(cwd / "begun"), **changes)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with forked.Command([str(argument) for argument in arguments], cwd=cwd, env=variables, **pipes) as process:
        while process.poll() is None and sum(file.stat().st_size > 0 for file in cwd.glob(windows)) < files:
            threading.Event().wait(0.005)
        assert process.poll() is None, process.communicate()
        yield process


def on_terminal(arguments: list[str], cwd: Path, typed: str = "", **changes) -> tuple[int, str]:
    """Exit code and everything that was shown on a pseudo-terminal, on which somebody typed."""
    ours, theirs = pty.openpty()
    os.write(ours, typed.encode())
    variables = environment("run", TERM="xterm-256color", LINES="40", **changes)
    with subprocess.Popen(arguments, cwd=cwd, env=variables, stdout=theirs, stderr=theirs, stdin=theirs) as process:
        os.close(theirs)
        shown = bytearray()
        while True:
            try:
                shown += os.read(ours, 65536)
            except OSError:  # EIO: the last one on the terminal has gone
                break
    os.close(ours)
    return process.returncode, shown.decode()
