"""Where output goes: results to stdout, progress to stderr."""

from rich.console import Console

UNLIMITED = 10_000
"""Width off a terminal: tables take the width that they need, and drop no column."""


def results() -> Console:
    """For the results of a command. On a terminal it is as wide as the terminal."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=UNLIMITED)


def progress() -> Console:
    """For progress."""
    return Console(stderr=True, highlight=False)
