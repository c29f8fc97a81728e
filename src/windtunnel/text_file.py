"""Reading a text that a user names."""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from windtunnel.errors import UserError, check_name

MOST_RECORD_BYTES = 4 << 20
"""Of a record, as run.json and study.json: a hundred times what the longest one has. It is read as a whole, by who may have others to serve."""
BOM = "\ufeff"
"""What some editors and spreadsheets put in front of UTF-8."""


def read_text(file: Path, most_bytes: int, remedy: str, follow: bool = True) -> str:
    """The text of a regular file. Raises UserError, with file and line, for what cannot be named, cannot be read, is larger, or is no UTF-8.
    A byte order mark is no part of the text. `follow`: a link to it."""
    check_name(file)
    try:
        with os.fdopen(open_regular(file, follow), "rb") as stream:
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


def open_regular(file: Path, follow: bool = True) -> int:
    """A descriptor of a regular file, which ends, and which nobody has to write to first. Raises OSError, also for what is no regular file,
    and for a link that is not to be followed."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        descriptor = os.open(file, flags | (0 if follow else os.O_NOFOLLOW))
    except OSError as error:
        if error.errno == errno.ELOOP and not follow:
            error.strerror = "a link, which is not followed"
        raise
    kind = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(kind):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is a directory" if stat.S_ISDIR(kind) else "not a regular file", str(file))
    return descriptor


def read_regular(file: Path, most_bytes: int, follow: bool = False) -> bytes:
    """What a program left, and not what a link leads to: who sent the directory may have put one there. Raises UserError for what
    `open_regular` does not open and for a larger file, FileNotFoundError or NotADirectoryError where there is none."""
    try:
        with os.fdopen(open_regular(file, follow), "rb") as stream:
            if os.fstat(stream.fileno()).st_size > most_bytes:
                raise UserError(f"{file}: larger than {_size(most_bytes)}")
            return stream.read(most_bytes)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        raise _unreadable(file, error) from None


def lines_of(file: Path, most_bytes: int, most_line_bytes: int) -> Iterator[bytes]:
    """Of a file that a program left, one after the other, so that nothing is kept of a file without an end. The last one has no line feed if it
    was cut off. Raises as `read_regular`."""
    try:
        with os.fdopen(open_regular(file, follow=False), "rb") as stream:
            if os.fstat(stream.fileno()).st_size > most_bytes:
                raise UserError(f"{file}: larger than {_size(most_bytes)}")
            for number, line in enumerate(iter(lambda: stream.readline(most_line_bytes + 1), b""), 1):
                if len(line) > most_line_bytes:
                    raise UserError(f"{file}:{number}: longer than {_size(most_line_bytes)}")
                yield line
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        raise _unreadable(file, error) from None


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
    """Of a regular file, and what it is, for who may not wait. Raises OSError as `open_regular`."""
    descriptor = open_regular(file, follow)
    try:
        return os.read(descriptor, most_bytes).decode(errors="replace"), os.fstat(descriptor)
    finally:
        os.close(descriptor)


def _unreadable(file: Path, error: OSError) -> UserError:
    return UserError(f"{file}: cannot be read: {(error.strerror or str(error)).lower()}")


def _size(count: int) -> str:
    """As scenarios write it: 64KiB."""
    units = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
    return next(
        (f"{count // unit}{name}" for unit, name in units if count % unit == 0),
        f"{count}B",
    )
