"""Levels of a cache line's round trip between two CPUs of this host, and the file that keeps what was seen of them.

A hypervisor moves virtual CPUs between one core, one L3 and two L3s. The round trip tells which: its values form levels with wide
gaps between them. Where the levels are is found in what was measured on this host, never in this source.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import exp, log
from pathlib import Path
from secrets import token_hex
from typing import Any

from windtunnel.host.facts import Facts

GAP = 1.6
"""Ratio of two neighbouring round trips between which a level ends. Within a level, round trips differ by 10% from one to the next."""
BUCKET = 0.05
"""Width of a bucket of the kept readings, on the logarithm of ns."""
RARE = 0.005
"""Share of all readings; a bucket with less is an accident, and bridges no gap."""
NAMES = ("one-l3", "two-l3s", "two-sockets")
"""Of the levels in ascending order, where more than one is known."""
ONLY_ONE = "one-level"
FILE_VERSION = 1


@dataclass(frozen=True)
class Level:
    """Round trips that belong together, ns."""

    low: float
    high: float
    readings: int


@dataclass
class Readings:
    """What was read on this host so far: round trips by bucket, and the least time of additions against the chain."""

    trips: Counter[int] = field(default_factory=Counter)
    least_wide: float | None = None

    def add(self, trips: Iterable[float], wide: Iterable[float]) -> None:
        """`trips`: ns. `wide`: ratios of the additions' ticks to the chain's, of one worker and window each."""
        self.trips.update(round(log(ns) / BUCKET) for ns in trips if ns > 0)
        self.least_wide = min((value for value in (self.least_wide, *wide) if value), default=None)

    def update(self, other: "Readings") -> None:
        self.trips.update(other.trips)
        self.least_wide = min((value for value in (self.least_wide, other.least_wide) if value), default=None)

    def levels(self) -> list[Level]:
        """Ascending; empty where nothing was read."""
        total = sum(self.trips.values())
        found: list[Level] = []
        for bucket, count in sorted(self.trips.items()):
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
    """~/.local/state/windtunnel/host-states.json, or below XDG_STATE_HOME."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "windtunnel" / "host-states.json"


def read_kept(host: Facts, file: Path | None = None) -> Readings:
    """The readings of this host; none where there is no file, or it is of another host, kernel or version, or damaged."""
    try:
        document = json.loads((file or default_file()).read_bytes())
        if document["version"] != FILE_VERSION or document["host"] != identity(host):
            return Readings()
        trips = Counter({int(bucket): int(count) for bucket, count in document["trips"].items()})
        least = document["least_wide"]
        return Readings(trips, None if least is None else float(least))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return Readings()


def keep(readings: Readings, host: Facts, file: Path | None = None) -> bool:
    """Writes them whole or not at all. A file of another host or kernel stays beside it as `.old`. False: it cannot be written."""
    path = file or default_file()
    document: Mapping[str, Any] = {
        "version": FILE_VERSION,
        "host": identity(host),
        "trips": {str(bucket): count for bucket, count in sorted(readings.trips.items())},
        "least_wide": readings.least_wide,
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not read_kept(host, path).trips:
            path.replace(path.with_suffix(".old"))
        part = path.with_suffix(f".{token_hex(4)}")
        part.write_text(json.dumps(document))
        part.replace(path)
    except OSError:
        return False
    return True
