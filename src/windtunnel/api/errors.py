"""Errors for users, what a diagnosis finds, and text that is harmless at a terminal."""

from windtunnel.engine.signals import signal_name
from windtunnel.errors import Unforeseen, UserError, as_argument, cannot_write, in_words
from windtunnel.finding import Finding, NotMeasured, require
from windtunnel.printing import print_file, print_line
from windtunnel.version import __version__

__all__ = [
    "Finding",
    "NotMeasured",
    "Unforeseen",
    "UserError",
    "__version__",
    "as_argument",
    "cannot_write",
    "in_words",
    "print_file",
    "print_line",
    "require",
    "signal_name",
]
