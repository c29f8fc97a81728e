"""The command line. Imports here and at the top of each command are light: `windtunnel --help` starts at once."""

import atexit
import errno
import gc
import os
from typing import TYPE_CHECKING, NoReturn

from windtunnel.printing import guard

if TYPE_CHECKING:
    from windtunnel.errors import UserError


def main() -> None:
    """Runs the command line and exits: 0 done, 1 invalid run or no room for the output, 2 bad input or refused, 130 interrupted."""
    # imports stay: collecting garbage among them takes a seventh of each command's start
    gc.set_threshold(50_000, 50, 50)
    atexit.register(gc.freeze)  # and before the process ends, a fifth of a short command
    guard()
    os.umask(os.umask(0o077) | 0o002)  # an engine inherits it, too: no file is writable by all
    try:
        _run()
    except KeyboardInterrupt:  # before or after a run, which handles it itself
        raise SystemExit(130) from None
    except Exception as error:
        # Modules written in C turn it into errors of their own during import: ImportError, pydantic's SchemaError.
        if isinstance(error.__cause__, KeyboardInterrupt) or "KeyboardInterrupt" in str(error):
            raise SystemExit(130) from None
        raise


def _run() -> None:
    from windtunnel.cli.limits import check_limits
    from windtunnel.errors import UserError

    try:
        check_limits()
        from windtunnel.cli.app import app

        app(prog_name="windtunnel")
    except UserError as error:
        _end(error, 2)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        _end(UserError(f"the output cannot be written: {error.strerror}", remedy="free some space"), 1)


def _end(error: "UserError", code: int) -> NoReturn:
    from windtunnel.results.terminal.messages import show_error

    show_error(error)
    raise SystemExit(code) from None
