"""The one exception that a user is meant to see, words that many need for it, and what is asked of every path."""

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
    """Something the user can mend: shown in words without a traceback, exit code 2.

    `message` says what is wrong and where, `remedy` what would be right.
    """

    def __init__(self, message: str, remedy: str | None = None):
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def but(self, words: str) -> Self:
        """The same error, with more to say."""
        self.message = f"{self.message}; {words}"
        self.args = (self.message,)
        return self


def cannot_write(
    path: Path, error: OSError, space: str = "free some space, or choose another directory with --out"
) -> UserError:
    """The words for a write that failed; `space`: what to do where the disk is full."""
    remedy = space if error.errno in _FULL else None
    return UserError(f"{path}: cannot be written: {os.strerror(error.errno or 0)}", remedy=remedy)


class Unforeseen(UserError):
    """A fault of Windtunnel."""


@contextlib.contextmanager
def in_words() -> Iterator[None]:
    """Whatever is raised within is raised as a UserError: for a daemon, which has to undo what is half done, and to go on with all that an
    error does not concern. What nobody foresaw is an Unforeseen, and its traceback goes to stderr."""
    try:
        yield
    except UserError:
        raise
    except OSError as error:
        raise UserError(f"the kernel refused: {error.strerror or error}") from error
    except Exception as error:
        print_line("".join(traceback.format_exception(error)), to=sys.stderr)
        remedy = "report this fault of windtunnel, with the traceback on stderr"
        raise Unforeseen(f"{type(error).__name__}: {error}", remedy) from error


def as_argument(what: object) -> str:
    """As a shell takes it for one argument, and a program for no option: who pastes a remedy runs what it says, whoever gave the file its
    name."""
    text = str(what)
    return quote(f"./{text}" if text.startswith("-") else text)


def check_name(path: Path) -> None:
    """Raises UserError for a path that is not UTF-8: plans and records are JSON and could not name it."""
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError:
        raise UserError(
            f"{path}: its name is not UTF-8", remedy="another name, of the file or of its directories"
        ) from None
