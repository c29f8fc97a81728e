"""Levels of round trips between two CPUs of this host, and the file that keeps what was seen of them.

A trip is that of a cache line between two workers, or that of a small copy between a worker and the thread of a software copier.

A hypervisor moves virtual CPUs between one core, one L3 and two L3s. The round trip tells which: its values form levels with wide
gaps between them. Where the levels are is found in what was measured on this host, never in this source.
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
"""Ratio of two neighbouring round trips between which a level ends. Within a level, round trips differ by 10% from one to the next."""
BUCKET = 0.05
"""Width of a bucket of the kept readings, on the logarithm of ns."""
RARE = 0.005
"""Share of all readings; a bucket with less is an accident, and bridges no gap. Additions that were faster in less are one too."""
FINE = 0.01
"""Width of a bucket of the additions' ratios, on their logarithm."""
LEAST_ALIKE = 3
"""Readings of additions: so many must be as low before that counts as what this host can do."""
NAMES = ("one-l3", "two-l3s", "two-sockets")
"""Of the levels in ascending order, where more than one is known."""
ONLY_ONE = "one-level"
FILE_VERSION = 1
MOST_BYTES = 16 << 20


@dataclass(frozen=True)
class Level:
    """Round trips that belong together, ns."""

    low: float
    high: float
    readings: int


@dataclass
class Readings:
    """What was read on this host so far, by bucket: round trips of cache lines and of copies, and the additions' time against the
    chain's."""

    trips: Counter[int] = field(default_factory=Counter)
    copies: Counter[int] = field(default_factory=Counter)
    wide: Counter[int] = field(default_factory=Counter)

    def add(self, trips: Iterable[float], wide: Iterable[float], copies: Iterable[float] = ()) -> None:
        """`trips` and `copies`: ns. `wide`: ratios of the additions' ticks to the chain's, of one worker and window each."""
        self.trips.update(round(log(ns) / BUCKET) for ns in trips if ns > 0)
        self.copies.update(round(log(ns) / BUCKET) for ns in copies if ns > 0)
        self.wide.update(round(log(ratio) / FINE) for ratio in wide if ratio > 0)

    def update(self, other: "Readings") -> None:
        self.trips.update(other.trips)
        self.copies.update(other.copies)
        self.wide.update(other.wide)

    def least_wide(self) -> float | None:
        """The additions' least time against the chain's, without accidents: LEAST_ALIKE readings, and more than RARE of all, are as low.
        None where nothing was read."""
        total, below = sum(self.wide.values()), 0
        for bucket, count in sorted(self.wide.items()):
            below += count
            if below >= min(LEAST_ALIKE, total) and below > RARE * total:
                return exp(bucket * FINE)
        return None

    def levels(self) -> list[Level]:
        """Of cache lines, ascending; empty where nothing was read."""
        return _levels(self.trips)

    def copy_levels(self) -> list[Level]:
        """Of copies, likewise."""
        return _levels(self.copies)


def _levels(trips: Counter[int]) -> list[Level]:
    total = sum(trips.values())
    found: list[Level] = []
    for bucket, count in sorted(trips.items()):
        if count < RARE * total:
            continue
        ns = exp(bucket * BUCKET)
        if found and ns < GAP * found[-1].high:
            found[-1] = Level(found[-1].low, ns, found[-1].readings + count)
        else:
            found.append(Level(ns, ns, count))
    return found


def level_of(ns: float, levels: list[Level]) -> int:
    """Position of the level that is nearest by ratio. `levels` is not empty."""
    return min(range(len(levels)), key=lambda n: max(log(levels[n].low / ns), log(ns / levels[n].high), 0.0))


def name_of(position: int, levels: list[Level]) -> str:
    """As in "one-l3". With one level known, nothing tells what it is."""
    if len(levels) < 2:
        return ONLY_ONE
    return NAMES[position] if position < len(NAMES) else f"level-{position + 1}"


def identity(host: Facts) -> dict[str, Any]:
    """What the levels depend on."""
    return {"cpu": host.cpus.model, "kernel": host.kernel, "virtual": host.cpus.virtual}


def default_file() -> Path:
    """host-states.json in the state directory."""
    return home.state_directory() / "host-states.json"


def read_kept(host: Facts, file: Path | None = None) -> Readings:
    """The readings of this host; none where there is no file, or it is of another host, kernel or version, or damaged."""
    try:
        document = parse_json(home.read(file or default_file(), MOST_BYTES), "kept")
        if document["version"] != FILE_VERSION or document["host"] != identity(host):
            return Readings()
        kinds = (document["trips"], document["copies"], document["wide"])
        return Readings(*(Counter({int(bucket): int(count) for bucket, count in kind.items()}) for kind in kinds))
    except (OSError, UserError, ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return Readings()


def keep(readings: Readings, host: Facts, file: Path | None = None) -> bool:
    """Writes them whole or not at all. A file of another host or kernel stays beside it as `.old`. False: it cannot be written."""
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
