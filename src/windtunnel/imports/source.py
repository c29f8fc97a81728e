"""A text that another tool wrote, and what is wrong with it: all of it at once, each with its line."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.errors import UserError

MAX_FILE_BYTES = 16 << 20
"""A log of Axio grows by 3 KB a second."""


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong, or cannot be carried over; `remedy` says what would be right. Line 0: the file as a whole."""

    line: int
    what: str
    remedy: str


@dataclass(frozen=True)
class Foreign:
    """A file of another tool."""

    file: Path
    raw: bytes
    text: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.raw).hexdigest()

    def error(self, faults: Sequence[Fault]) -> UserError:
        """One fault reads like any other error; several stand below each other, in the order of their lines."""
        ordered = sorted(dict.fromkeys(faults), key=lambda fault: fault.line)
        if len(ordered) == 1:
            return UserError(f"{self._place(ordered[0])}: {ordered[0].what}", remedy=ordered[0].remedy)
        listed = [f"{self._place(fault)}: {fault.what} -> {fault.remedy}" for fault in ordered]
        return UserError("\n".join([f"{self.file}: {len(ordered)} faults, each with what would be right:", *listed]))

    def _place(self, fault: Fault) -> str:
        return f"{self.file}:{fault.line}" if fault.line else str(self.file)


def read(path: Path) -> Foreign:
    """Raises UserError for what is no text of at most 16 MiB."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UserError(f"{path}: {(error.strerror or str(error)).lower()}", remedy="name a file to import") from None
    if len(raw) > MAX_FILE_BYTES:
        raise UserError(f"{path}: larger than 16 MiB", remedy="cut out the part that counts")
    try:
        return Foreign(path, raw, raw.decode())
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        what = f"{path}:{line}: byte {raw[error.start]:#04x} is not UTF-8"
        raise UserError(what, remedy="a text, as the tool printed it") from None
