"""Levels of round trips between two CPUs of this host, and the file that keeps their readings.

A round trip is that of a cache line between two workers, or that of a small copy between a worker and the thread of a software copier.

A hypervisor moves virtual CPUs between one core, one L3 and two L3s. The round trip tells which: its values form levels with wide
gaps between them. The levels come from measurements on this host, never from constants in this source.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import exp, log
from pathlib import Path
from typing import Any

from windtunnel.engine import home
from windtunnel.errors import UserError
from windtunnel.host.facts import Facts
from windtunnel.text_file import parse_json

GAP = 1.6
"""Ratio of two neighbouring round trips above which they are of two levels. Within a level, neighbours differ by 10%."""
BUCKET = 0.05
"""Width of a bucket of the kept readings, on the logarithm of ns."""
RARE = 0.005
"""Share of all readings below which a bucket is an outlier and bridges no gap. Additions that were faster in a smaller share are outliers, too."""
FINE = 0.01
"""Width of a bucket of the additions' ratios, on their logarithm."""
LEAST_ALIKE = 3
"""Fewest readings of additions that must be as low before the value counts as the capability of this host."""
NAMES = ("one-l3", "two-l3s", "two-sockets")
"""Names of the levels in ascending order, if more than one is known."""
ONLY_ONE = "one-level"
ONE_CORE = "one-core"
JOIN = " + "
"""Between the names of a state that has several."""
FILE_VERSION = 1
MOST_BYTES = 16 << 20


@dataclass(frozen=True)
class Level:
    """Round trips of one level, ns."""

    low: float
    high: float
    readings: int


@dataclass
class Readings:
    """The readings of this host, by bucket: round trips of cache lines and of copies, and the additions' time relative to the
    chain's."""

    trips: Counter[int] = field(default_factory=Counter)
    copies: Counter[int] = field(default_factory=Counter)
    wide: Counter[int] = field(default_factory=Counter)

    def add(self, trips: Iterable[float], wide: Iterable[float], copies: Iterable[float] = ()) -> None:
        """Adds readings. `trips` and `copies`: ns. `wide`: ratios of the additions' ticks to the chain's, of one worker and window each."""
        self.trips.update(round(log(ns) / BUCKET) for ns in trips if ns > 0)
        self.copies.update(round(log(ns) / BUCKET) for ns in copies if ns > 0)
        self.wide.update(round(log(ratio) / FINE) for ratio in wide if ratio > 0)

    def update(self, other: "Readings") -> None:
        self.trips.update(other.trips)
        self.copies.update(other.copies)
        self.wide.update(other.wide)

    def least_wide(self) -> float | None:
        """The additions' least time relative to the chain's, without outliers: LEAST_ALIKE readings, and more than RARE of all, are as low.
        None if there are no readings."""
        total, below = sum(self.wide.values()), 0
        for bucket, count in sorted(self.wide.items()):
            below += count
            if below >= min(LEAST_ALIKE, total) and below > RARE * total:
                return exp(bucket * FINE)
        return None

    def levels(self) -> list[Level]:
        """Levels of cache lines, ascending; empty if there are no readings."""
        return _levels(self.trips)

    def copy_levels(self) -> list[Level]:
        """Levels of copies, ascending; empty if there are no readings."""
        return _levels(self.copies)


def _levels(trips: Counter[int]) -> list[Level]:
    total = sum(trips.values())
    levels: list[Level] = []
    for bucket, count in sorted(trips.items()):
        if count < RARE * total:
            continue
        ns = exp(bucket * BUCKET)
        if levels and ns < GAP * levels[-1].high:
            levels[-1] = Level(levels[-1].low, ns, levels[-1].readings + count)
        else:
            levels.append(Level(ns, ns, count))
    return levels


def level_of(ns: float, levels: list[Level]) -> int:
    """Position of the level that is nearest by ratio. `levels` is not empty."""
    return min(range(len(levels)), key=lambda n: max(log(levels[n].low / ns), log(ns / levels[n].high), 0.0))


def name_of(position: int, levels: list[Level]) -> str:
    """The name of a level, such as "one-l3". If only one level is known, it could be any."""
    if len(levels) < 2:
        return ONLY_ONE
    return NAMES[position] if position < len(NAMES) else f"level-{position + 1}"


def joined(names: Iterable[str]) -> str:
    """The name of a state in which pairs differ, as in "one-l3 + two-l3s": each name once, the nearest first, whatever the order of the pairs."""
    order = {name: position for position, name in enumerate((ONE_CORE, ONLY_ONE, *NAMES))}
    parts = {part for name in names for part in name.split(JOIN)}
    return JOIN.join(sorted(parts, key=lambda part: (order.get(part, len(order)), len(part), part)))


def identity(host: Facts) -> dict[str, Any]:
    """The facts on which the levels depend."""
    return {"cpu": host.cpus.model, "kernel": host.kernel, "virtual": host.cpus.virtual}


def default_file() -> Path:
    """host-states.json in the state directory."""
    return home.state_directory() / "host-states.json"


def read_kept(host: Facts, file: Path | None = None) -> Readings:
    """The readings of this host; empty if there is no file, or if it is of another host, kernel or version, or damaged."""
    try:
        document = parse_json(home.read(file or default_file(), MOST_BYTES), "kept")
        if document["version"] != FILE_VERSION or document["host"] != identity(host):
            return Readings()
        kinds = (document["trips"], document["copies"], document["wide"])
        return Readings(*(Counter({int(bucket): int(count) for bucket, count in kind.items()}) for kind in kinds))
    except (OSError, UserError, ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return Readings()


def keep(readings: Readings, host: Facts, file: Path | None = None) -> bool:
    """Writes the readings atomically. A file of another host or kernel stays beside it as `.old`. False: it cannot be written."""
    path = file or default_file()
    document: Mapping[str, Any] = {
        "version": FILE_VERSION,
        "host": identity(host),
        "trips": {str(bucket): count for bucket, count in sorted(readings.trips.items())},
        "copies": {str(bucket): count for bucket, count in sorted(readings.copies.items())},
        "wide": {str(bucket): count for bucket, count in sorted(readings.wide.items())},
    }
    try:
        if path.exists() and read_kept(host, path) == Readings():
            path.replace(path.with_suffix(".old"))
        home.keep(path, json.dumps(document).encode())
    except (OSError, UserError):
        return False
    return True
