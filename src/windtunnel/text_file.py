"""Reading a text that a user names."""

import errno
import os
import stat
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from windtunnel.errors import UserError, check_name

BOM = "\ufeff"
"""What some editors and spreadsheets put in front of UTF-8."""


def read_text(file: Path, most_bytes: int, remedy: str) -> str:
    """The file's text. Raises UserError, with file and line, for what cannot be named, cannot be read, is larger, or is no UTF-8. A byte
    order mark is no part of the text."""
    check_name(file)
    try:
        with file.open("rb") as stream:
            raw = stream.read(most_bytes + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)
        raise UserError(f"{file}: {reason}", remedy=remedy) from None
    if len(raw) > most_bytes:
        raise UserError(f"{file}: larger than {_size(most_bytes)}", remedy=remedy)
    try:
        return raw.decode().removeprefix(BOM)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        what = f"{file}:{line}: byte {raw[error.start]:#04x} is not UTF-8"
        raise UserError(what, remedy=f"{remedy}, saved as UTF-8") from None


def read_regular(file: Path, most_bytes: int | None = None) -> bytes:
    """What a program left: a regular file, which ends. Raises UserError for another one and for a larger one, FileNotFoundError or
    NotADirectoryError where there is none."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UserError(f"{file}: cannot be read: not a regular file")
        if most_bytes is not None and status.st_size > most_bytes:
            raise UserError(f"{file}: larger than {_size(most_bytes)}")
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return stream.read() if most_bytes is None else stream.read(most_bytes)
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    finally:
        os.close(descriptor)


def parse_json(content: str | bytes, place: str | Path) -> Any:
    """JSON of ours. Raises UserError, which begins with `place`, for other text, and for what is nested without end."""
    try:
        return from_json(content)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{place}: not JSON: {error}") from None


def named_file(file: Path) -> Path:
    """A regular file, without the links on the way to it. Raises UserError where there is none: links may lead in a circle."""
    try:
        if stat.S_ISREG(file.stat().st_mode):
            return Path(os.path.realpath(file))
        reason = "not a regular file"
    except FileNotFoundError:
        reason = "no such file"
    except (OSError, ValueError) as error:
        reason = error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)
    raise UserError(f"{reason}: {os.path.realpath(file)}") from None


def beginning(file: Path, most_bytes: int, follow: bool = True) -> tuple[str, os.stat_result]:
    """Of a regular file, and what it is, for who may not wait: a FIFO has perhaps no writer. Raises OSError, also for what is no
    regular file, and for a link that is not to be followed."""
    descriptor = os.open(
        file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    )
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(file))
        return os.read(descriptor, most_bytes).decode(errors="replace"), status
    finally:
        os.close(descriptor)


def _size(count: int) -> str:
    """As scenarios write it: 64KiB."""
    return next(
        (f"{count // unit}{name}" for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")) if count % unit == 0),
        f"{count}B",
    )
