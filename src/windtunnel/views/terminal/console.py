"""Where output goes: results to stdout, progress to stderr."""

from rich.console import Console

UNLIMITED = 10_000
"""Columns of what is no terminal: tables take the width that they need, and lose no column."""


def results() -> Console:
    """For what a command was asked for. On a terminal it is as wide as the terminal."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=UNLIMITED)


def progress() -> Console:
    """For what is said while a command works."""
    return Console(stderr=True, highlight=False)
