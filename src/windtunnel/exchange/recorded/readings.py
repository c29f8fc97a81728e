"""The counts of all tools in one form."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_WHOLE = re.compile(r"\s*[0-9]{1,30}\s*")
"""A float would not tell two counters of 64 bits apart."""
MOST = 1e30
"""No counter has more; a text that does is malformed."""


@dataclass(frozen=True)
class Reading:
    """One value of a text."""

    name: str
    value: float | None
    """None: the tool could not count it, and `words` has its text."""
    unit: str
    line: int
    """The first one that it was read from."""
    words: str = ""
    """A caveat, such as "counted in 67% of the time, and scaled by perf"."""
    counts: Mapping[str, float] = field(default_factory=dict)
    """Counts by interval, CPU, thread or group, for a tool that has these: the value is their sum. One without a count is not in it."""


@dataclass(frozen=True)
class Recorded:
    """One text."""

    file: Path
    tool: str
    readings: tuple[Reading, ...]

    def value(self, name: str) -> float | None:
        """The value of a name; None: it is not in the text, or was not counted."""
        return next((reading.value for reading in self.readings if reading.name == name), None)

    def counted(self, names: Iterable[str]) -> list[Reading]:
        """The readings of these names that were counted."""
        return [reading for reading in self.readings if reading.name in names and reading.value is not None]


def number(text: str) -> float | None:
    """A value that a tool printed; None if it is not a number, negative, or larger than any counter."""
    try:
        value = int(text) if _WHOLE.fullmatch(text) else float(text)
    except ValueError:
        return None
    if "_" in text:  # Python takes it between digits
        return None
    return value if math.isfinite(value) and 0 <= value < MOST else None
