"""The exception for users, messages that several rooms share, and the check of every path."""

import contextlib
import errno
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Self

from windtunnel.printing import print_line

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class UserError(Exception):
    """An error that the user can fix: shown as a message without a traceback, exit code 2.

    `message` has the fault and its place, `remedy` how to fix it.
    """

    def __init__(self, message: str, remedy: str | None = None):
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def but(self, addition: str) -> Self:
        """The error itself, with an addition to its message."""
        self.message = f"{self.message}; {addition}"
        self.args = (self.message,)
        return self


def cannot_write(
    path: Path, error: OSError, space: str = "free some space, or choose another directory with --out"
) -> UserError:
    """The error for a failed write; `space`: the remedy if the disk is full."""
    remedy = space if error.errno in _FULL else None
    return UserError(f"{path}: cannot be written: {os.strerror(error.errno or 0)}", remedy=remedy)


class Unforeseen(UserError):
    """An unexpected error, which is a fault of Windtunnel."""


@contextlib.contextmanager
def in_words() -> Iterator[None]:
    """Turns every error in the context into a UserError, for a daemon, which has to undo partial changes and to go on with everything else.
    An unexpected error becomes Unforeseen, and its traceback goes to stderr."""
    try:
        yield
    except UserError:
        raise
    except OSError as error:
        raise UserError(f"the kernel refused: {error.strerror or error}") from error
    except Exception as error:
        for line in "".join(traceback.format_exception(error)).splitlines():
            print_line(line, to=sys.stderr)
        remedy = "report this fault of windtunnel, with the traceback on stderr"
        raise Unforeseen(f"{type(error).__name__}: {error}", remedy) from error


def as_argument(value: object) -> str:
    """The value quoted as one argument of a shell that is no option: a user pastes a remedy, and the name of a file may be another user's."""
    text = str(value)
    return quote(f"./{text}" if text.startswith("-") else text)


def check_name(path: Path) -> None:
    """Raises UserError for a path that is not UTF-8: plans and records are JSON and could not name it."""
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError:
        raise UserError(
            f"{path}: its name is not UTF-8", remedy="another name, of the file or of its directories"
        ) from None
