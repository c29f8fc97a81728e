"""Files of the kernel that `--monitor` has read at its begin and at its end: both texts in one file, each behind a line that says what and when."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_HEAD = re.compile(r"# snapshot of (\S+), (\d{1,9}\.\d{3}) s")


@dataclass(frozen=True)
class Snapshot:
    line: int
    """Of its head."""
    seconds: float
    """Since the monitor began."""
    lines: tuple[str, ...]


def head_of(place: str, seconds: float) -> str:
    """The line before a snapshot. `seconds`: since the monitor began."""
    return f"# snapshot of {place}, {seconds:.3f} s\n"


def snapshots_of(lines: Sequence[str], place: str) -> list[Snapshot]:
    """The snapshots of this place in a text; empty: it has none."""
    heads = [(number, match) for number, line in enumerate(lines) if (match := _HEAD.match(line)) and match[1] == place]
    ends = [*(number for number, _ in heads), len(lines)][1:]
    return [
        Snapshot(number + 1, float(match[2]), tuple(lines[number + 1 : end]))
        for (number, match), end in zip(heads, ends, strict=bool(heads))
    ]
