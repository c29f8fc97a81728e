"""A text that another tool wrote, and its faults: all of them at once, each with its line."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.printing import one_line
from windtunnel.text_file import hinted, read_text

MAX_FILE_BYTES = 16 << 20
"""A log that grows by 3 KB a second has as many after 90 minutes."""
MOST_LINE = 1 << 16
"""Characters of a line of counters: a bound for what a reader does with one line, and for the columns of a table."""
_WHAT = "a text, as the tool printed it"
MAX_LISTED = 50
"""Faults. More of them mean that the file is of another kind."""


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong, or cannot be converted; `remedy` says what is expected. Line 0: the file as a whole."""

    line: int
    what: str
    remedy: str


class Faults(list[Fault]):
    """Faults of a text: the first MAX_LISTED, and one more if there are others. A text may have a million."""

    def append(self, fault: Fault) -> None:
        if len(self) <= MAX_LISTED:
            super().append(fault)

    def extend(self, faults: Iterable[Fault]) -> None:
        for fault in faults:
            self.append(fault)


@dataclass(frozen=True)
class Foreign:
    """A file of another tool."""

    file: Path
    text: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def error(self, faults: Sequence[Fault]) -> UserError:
        """One fault is an ordinary error; several are listed in the order of their lines."""
        ordered = sorted(dict.fromkeys(faults), key=lambda fault: fault.line)
        lines = ["", *self.text.split("\n")]
        hinted_faults = [
            replace(fault, what=hinted(fault.what, "".join(lines[fault.line : fault.line + 1])))
            for fault in ordered[:MAX_LISTED]
        ]
        if len(ordered) == 1:
            return UserError(
                f"{self._place(hinted_faults[0])}: {hinted_faults[0].what}", remedy=hinted_faults[0].remedy
            )
        listed = [f"{self._place(fault)}: {fault.what} -> {fault.remedy}" for fault in hinted_faults]
        number = (
            f"more than {MAX_LISTED} faults, the first {MAX_LISTED} of them"
            if len(ordered) > MAX_LISTED
            else f"{len(ordered)} faults"
        )
        return UserError("\n".join(map(one_line, [f"{self.file}: {number}, each with what expected:", *listed])))

    def _place(self, fault: Fault) -> str:
        return f"{self.file}:{fault.line}" if fault.line else str(self.file)


def read(path: Path) -> Foreign:
    """The file of another tool. Raises UserError if it is not a text of at most 16 MiB."""
    return Foreign(path, read_text(path, MAX_FILE_BYTES, _WHAT))


def read_counters(path: Path, remedy: str = _WHAT, follow: bool = True) -> Foreign:
    """The output of a tool that reads a host's counters. Raises UserError as `read`, and for a line longer than any that such a tool prints.
    `follow`: a symbolic link is followed."""
    text = read_text(path, MAX_FILE_BYTES, remedy, follow)
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MOST_LINE:
            raise UserError(f"{path}:{number}: longer than {MOST_LINE:,} characters", remedy=remedy)
    return Foreign(path, text)
