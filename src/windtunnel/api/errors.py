"""Errors for users, what a diagnosis finds, and text that is harmless at a terminal."""

from typing import TYPE_CHECKING

from windtunnel.api.lazy import loader_of

if TYPE_CHECKING:
    from windtunnel.engine.signals import signal_name as signal_name
    from windtunnel.errors import Unforeseen as Unforeseen
    from windtunnel.errors import UserError as UserError
    from windtunnel.errors import as_argument as as_argument
    from windtunnel.errors import cannot_write as cannot_write
    from windtunnel.errors import in_words as in_words
    from windtunnel.finding import Finding as Finding
    from windtunnel.finding import NotMeasured as NotMeasured
    from windtunnel.finding import require as require
    from windtunnel.printing import print_file as print_file
    from windtunnel.printing import print_line as print_line
    from windtunnel.version import __version__ as __version__

__getattr__ = loader_of(__name__)
