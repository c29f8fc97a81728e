"""Where output goes: results to stdout, progress to stderr."""

import errno
import os
import sys

from rich.console import Console

from windtunnel.results.terminal.harmless import HarmlessConsole


def results() -> Console:
    """For the results of a command."""
    return HarmlessConsole()


class _Progress(HarmlessConsole):
    """Raises BrokenPipeError once its reader has left. rich would exit, out of the middle of a run that has engines."""

    def on_broken_pipe(self) -> None:
        nobody = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nobody, sys.stderr.fileno())  # what is still in its buffer has to go somewhere
        os.close(nobody)
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def progress() -> Console:
    """For progress."""
    return _Progress(stderr=True)
