"""Where output goes: results to stdout, progress to stderr."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rich.console import Console

from windtunnel.views.terminal.harmless import HarmlessConsole

_AS_MARKDOWN = ContextVar("as_markdown", default=False)


@contextmanager
def results_as_markdown() -> Iterator[None]:
    """What `results` gives within writes Markdown."""
    before = _AS_MARKDOWN.set(True)
    try:
        yield
    finally:
        _AS_MARKDOWN.reset(before)


def results() -> Console:
    """For the results of a command."""
    if _AS_MARKDOWN.get():
        from windtunnel.views.terminal.markdown import MarkdownConsole

        return MarkdownConsole()
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
