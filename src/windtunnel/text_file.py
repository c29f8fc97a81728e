"""Reads texts that a user names."""

import codecs
import errno
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from windtunnel.errors import UserError, check_name

MOST_RECORD_BYTES = 4 << 20
"""Bound of a record, such as run.json and study.json: a hundred times the longest one. A server reads it as a whole."""
BOM = "\ufeff"
"""The byte order mark that some editors and spreadsheets put in front of UTF-8."""
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""The byte order marks of Notepad's "Unicode" and PowerShell's `>`."""
_TYPOGRAPHIC = (
    (
        re.compile("[\u00b4\u2018-\u201f\u2032\u2033\u2039\u203a\u00ab\u00bb\uff02\uff07]"),
        "is a typographic quotation mark",
        "write \" or ', as a program's text has them",
    ),
    (re.compile("[\u2010-\u2015\u2212\uff0d]"), "is a typographic dash", "write - in its place"),
    (re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000]"), "is a typographic space", "write a plain space"),
    (re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]"), "is an invisible character", "remove it"),
    (re.compile("[\uff01-\uff5e]"), "is a full-width character", "write it as ASCII"),
)
"""Characters that word processors, web pages and PDFs have in place of plain ones, each with its kind and a remedy."""


def read_text(file: Path, most_bytes: int, remedy: str, follow: bool = True) -> str:
    """The text of a regular file. Raises UserError, with file and line, if its name is not UTF-8, if it cannot be read, is larger, or is neither
    UTF-8 nor UTF-16 with its mark. A byte order mark is no part of the text. `follow`: a symbolic link is followed."""
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
        text = decoded(raw)
    except UnicodeDecodeError as error:
        raise UserError(f"{file}:{undecodable(raw, error)}", remedy=f"{remedy}, saved as UTF-8") from None
    if "\0" in text:
        before = text.partition("\0")[0].split("\n")
        fault = (
            f"{file}:{len(before)}: a NUL character (column {len(before[-1]) + 1}): no text, or UTF-16 without its mark"
        )
        raise UserError(fault, remedy=f"{remedy}, saved as UTF-8")
    return text


def decoded(raw: bytes) -> str:
    """A text without its byte order marks: a file that `cat` made has one in front of each text. Raises UnicodeDecodeError."""
    text = raw.decode("utf-16" if raw.startswith(_UTF16) else "utf-8")
    return text.removeprefix(BOM).replace(f"\n{BOM}", "\n")


def undecodable(raw: bytes, error: UnicodeDecodeError) -> str:
    """Line, byte and column of a byte that is no text, such as `2: byte 0xe4 is not UTF-8 (column 5, ä in Windows-1252)`."""
    if error.encoding.startswith("utf-16"):
        return f"1: its mark says UTF-16, and byte {error.start} is none"
    before = decoded(raw[: error.start]).rpartition("\n")[2]
    line, byte = raw.count(b"\n", 0, error.start) + 1, raw[error.start : error.start + 1]
    meant = byte.decode("cp1252", "replace")
    named = f", {meant} in Windows-1252" if meant.isprintable() and meant != "\ufffd" else ""
    return f"{line}: byte {byte[0]:#04x} is not UTF-8 (column {len(before) + 1}{named})"


def typographic(line: str, column: int = 0) -> tuple[str, str] | None:
    """The first typographic character of a line, with its column, and a remedy. `column`: where a parser stopped, from 1; the character there is
    checked first, and later ones are not, because they did not stop it."""
    stopped = column - 1 if column else len(line)
    for place in (stopped, *range(stopped)):
        for kind, fault, remedy in _TYPOGRAPHIC:
            if kind.match(line[place : place + 1]):
                character = line[place] if line[place].isprintable() else f"U+{ord(line[place]):04X}"
                return f"column {place + 1}: {character} {fault}", remedy
    return None


def hinted(fault: str, line: str) -> str:
    """The fault of a line, with the typographic character in it, if it has one."""
    hint = typographic(line)
    return f"{fault} ({hint[0]}: {hint[1]})" if hint and hint[0] not in fault else fault


NOT_QUOTED = "this line is not right, and what it says is not shown"
"""What a refusal says of a line that is not quotable."""
NOT_QUOTED_REMEDY = (
    "look at the line; only files of the working directory, and those beside what names them, are quoted"
)


def quotable(file: Path, named_in: Path | None = None) -> bool:
    """Whether a refusal may say what stands in a line of this file. A link, a scenario or a study may name any file, and who reads the refusal, in a
    log of CI, may have no right to read that one: only files below the working directory are quoted, and those below the directory of what names
    them, `named_in`."""
    resolved = file.resolve()
    places = [Path.cwd()] if named_in is None else [Path.cwd(), Path(os.path.abspath(named_in))]
    return any(resolved.is_relative_to(place) for place in places)


def open_regular(file: Path, follow: bool = True) -> int:
    """A descriptor of a regular file, because other files may have no end or block. Raises OSError, also if it is no regular file, and for a link
    that must not be followed."""
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
    """The content of a program's file. No link is followed, because the directory may be untrusted. Raises UserError if `open_regular` does not
    open it and for a larger file, FileNotFoundError or NotADirectoryError if there is none."""
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
    """The lines of a program's file, one after the other, so that a file without an end takes no memory. The last one has no line feed if the file
    was truncated. Raises as `read_regular`."""
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
    """The value of a JSON text. Raises UserError, which begins with `place`, for other text, and for too deep nesting."""
    try:
        return from_json(content)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{place}: not JSON: {error}") from None


def named_file(file: Path) -> Path:
    """The path of a regular file with all links resolved. Raises UserError if there is none, or if links form a cycle."""
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
    """The beginning of a regular file, and its status, for a caller that must not wait. Raises OSError as `open_regular`."""
    descriptor = open_regular(file, follow)
    try:
        return os.read(descriptor, most_bytes).decode(errors="replace"), os.fstat(descriptor)
    finally:
        os.close(descriptor)


def _unreadable(file: Path, error: OSError) -> UserError:
    return UserError(f"{file}: cannot be read: {(error.strerror or str(error)).lower()}")


def _size(count: int) -> str:
    """A size in the notation of scenarios: 64KiB."""
    units = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
    return next(
        (f"{count // unit}{name}" for unit, name in units if count % unit == 0),
        f"{count}B",
    )
