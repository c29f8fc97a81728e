"""What tools counted, whichever tool it was."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

MOST = 1e30
"""No counter has more; a text that does is malformed."""


@dataclass(frozen=True)
class Reading:
    """One value of a text."""

    name: str
    value: float | None
    """None: the tool could not count it, and `words` says what it wrote."""
    unit: str
    line: int
    """The first one that it was read from."""
    words: str = ""
    """As in "counted in 67% of the time, and scaled by perf"."""
    counts: Mapping[str, float] = field(default_factory=dict)
    """By interval, CPU, thread or group, for a tool that has these: the value is their sum. One for which the tool had no count is not in it."""


@dataclass(frozen=True)
class Recorded:
    """One text."""

    file: Path
    tool: str
    readings: tuple[Reading, ...]

    def value(self, name: str) -> float | None:
        """None: it is not in the text, or was not counted."""
        return next((each.value for each in self.readings if each.name == name), None)

    def counted(self, names: Iterable[str]) -> list[Reading]:
        """Those of these names that were counted."""
        return [each for each in self.readings if each.name in names and each.value is not None]


def number(text: str) -> float | None:
    """A value that a tool printed; None for what is none: not a number, negative, or beyond all counters."""
    try:
        value = float(text)
    except ValueError:
        return None
    if "_" in text:  # Python takes it between digits
        return None
    return value if math.isfinite(value) and 0 <= value < MOST else None
