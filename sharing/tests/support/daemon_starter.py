"""Forks daemons from one process that has imported them: an import takes a second, a fork milliseconds.

A line asks for a daemon, and is answered with its number; or names one that has ended, and is answered with its exit code. All daemons end
with the input.
"""

import ctypes
import json
import os
import signal
import sys
from importlib import import_module
from pathlib import Path

from pool_tools import Turns

from windtunnel.errors import UserError
from windtunnel.results.terminal.messages import show_error
from windtunnel_sharing.cli.serve import serve
from windtunnel_sharing.daemon import core

SET_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of prctl(2)."""


def start(file: str, slicer: str, output: str, environment: dict[str, str]) -> int:
    """`slicer`: `turns`, which only pins, or `real`, as the file says."""
    pid = os.fork()
    if pid:
        return pid
    ctypes.CDLL(None).prctl(SET_DEATH_SIGNAL, signal.SIGTERM)
    os.environ.update(environment)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    written = os.open(output, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(written, stream)
    if slicer == "turns":
        core.choose = lambda keys, cpus, say: core.Chosen(Turns, 100_000)
    try:
        serve(Path(file), from_anywhere=True)
    except UserError as error:
        show_error(error)
        sys.exit(2)
    sys.exit()


if __name__ == "__main__":
    import_module("windtunnel_sharing.daemon.serve")  # as the command does when it runs
    for line in sys.stdin:
        request = json.loads(line)
        ended = request.pop("ended", None)
        reply = start(**request) if ended is None else os.waitstatus_to_exitcode(os.waitpid(ended, 0)[1])
        print(reply, flush=True)
