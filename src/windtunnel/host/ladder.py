"""The cache-latency ladder of this host: the engine measures it, it is kept as JSON, and its levels are derived from it.

No model uses the sizes that lscpu prints: a guest sees caches that it shares, or of which it has a part. They are shown beside
the measured sizes, with their difference.

History of the record's version:
1  rungs, levels, reported caches
"""

import itertools
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import to_jsonable_python

from windtunnel import proc
from windtunnel.engine.find import find_engine
from windtunnel.engine.query import LadderLine, ladder
from windtunnel.errors import UserError
from windtunnel.host import facts
from windtunnel.host.caches import Cache, reported
from windtunnel.host.steps import plateaus
from windtunnel.text_file import read_text

LADDER_VERSION: Final = 1
MAX_FILE_BYTES = 16 << 20
LEAST = 64 << 10
"""Bytes: the engine measures no smaller ladder."""
MOST_BYTES, MOST_NS = 1 << 60, 1e12
"""Of a record: more than any machine has, and than a load takes."""
Pages = Literal["huge", "small"]


class Part(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)


class Rung(Part):
    """One size of the ladder."""

    bytes: int = Field(gt=0, le=MOST_BYTES)
    ns: float = Field(
        gt=0, le=MOST_NS, allow_inf_nan=False, description="latency of one dependent load: the fastest round"
    )
    most_ns: float = Field(gt=0, le=MOST_NS, allow_inf_nan=False, description="the slowest round")


class Level(Part):
    """A size up to which loads cost the same."""

    ns: float = Field(gt=0, le=MOST_NS, allow_inf_nan=False)
    bytes: int | None = Field(
        gt=0,
        le=MOST_BYTES,
        description="size at which it ends: half-way up to the next level, by ratios; null: no further level was found",
    )


class Ladder(Part):
    """What `windtunnel host ladder --out` writes."""

    version: Literal[1] = LADDER_VERSION
    measured: AwareDatetime
    pages: Pages = Field(description="what the memory was asked to lie on")
    huge_bytes: int | None = Field(
        description="what of it lay on transparent huge pages; null: the kernel does not say"
    )
    cpu: int
    tsc_hz: int
    rounds: int
    rungs: list[Rung] = Field(min_length=1)
    levels: list[Level] = Field(min_length=1)
    reported: list[Cache] = Field(description="by the kernel, as lscpu prints them: compared, never used")
    host: dict[str, Any]

    @field_validator("rungs")
    @classmethod
    def _rising(cls, rungs: list[Rung]) -> list[Rung]:
        if any(a.bytes >= b.bytes for a, b in itertools.pairwise(rungs)):
            raise ValueError("sizes are not ascending")
        return rungs

    def steps(self) -> list[int]:
        """Sizes at which a level ends. The end of the last level was not measured, so it is left out."""
        return [level.bytes for level in self.levels if level.bytes is not None]

    def at(self, sizes: np.ndarray) -> np.ndarray:
        """Latency in ns of a load at these sizes in bytes: interpolated by ratios between rungs, beyond them that of the nearest."""
        bytes_, ns = [rung.bytes for rung in self.rungs], [rung.ns for rung in self.rungs]
        logs = np.interp(np.log(np.maximum(sizes, 1)), np.log(bytes_), np.log(np.maximum.accumulate(ns)))
        return np.asarray(np.exp(logs))


def measure(pages: Pages, most: int, rounds: int, on_rung: Callable[[LadderLine], None] | None = None) -> Ladder:
    """Measures a ladder, which takes seconds a round. `most`: bytes; `on_rung` is called with each rung as it comes.

    Raises UserError for less than 64 KiB, for more than half of the free memory, and if the engine fails.
    """
    _fits(most)
    head, lines, huge_bytes = ladder(find_engine(), pages, most, rounds, on_rung)
    rungs = rungs_of(lines)
    return Ladder(
        measured=datetime.now(UTC),
        pages=pages,
        huge_bytes=huge_bytes,
        cpu=head.cpu,
        tsc_hz=head.tsc_hz,
        rounds=rounds,
        rungs=rungs,
        levels=levels_of(rungs),
        reported=reported(head.cpu),
        host=to_jsonable_python(facts.collect()),
    )


def read(path: Path) -> Ladder:
    """The ladder in a file. Raises UserError if the file has none, or one of another version."""
    try:
        return Ladder.model_validate_json(read_text(path, MAX_FILE_BYTES, HOW))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UserError(f"{path}: not a ladder: {where and where + ': '}{first['msg']}", remedy=HOW) from error


HOW = "`windtunnel host ladder --out ladder.json` measures one"


def rungs_of(lines: list[LadderLine]) -> list[Rung]:
    """The rungs over all rounds. The fastest round counts, because disturbance only adds time."""
    by_size: dict[int, list[float]] = {}
    for line in lines:
        by_size.setdefault(line.bytes, []).append(line.ns)
    return [Rung(bytes=size, ns=min(ns), most_ns=max(ns)) for size, ns in sorted(by_size.items())]


def levels_of(rungs: list[Rung]) -> list[Level]:
    """The plateaus, each with the size at which the latency is half-way up to the next."""
    flat = plateaus([rung.ns for rung in rungs])
    ends: list[int | None] = [_crossing(rungs, a.ns, b.ns) for a, b in itertools.pairwise(flat)]
    return [Level(ns=plateau.ns, bytes=end) for plateau, end in zip(flat, [*ends, None], strict=True)]


def _crossing(rungs: list[Rung], low: float, high: float) -> int:
    """The size at which the rising latency passes the geometric mean of two plateaus."""
    logs = np.maximum.accumulate(np.log([rung.ns for rung in rungs]))
    strictly = logs + np.arange(len(logs)) * 1e-9
    return round(float(np.exp(np.interp(np.log(low * high) / 2, strictly, np.log([rung.bytes for rung in rungs])))))


def _fits(most: int) -> None:
    if most < LEAST:
        raise UserError(f"a ladder up to {most} bytes has no rungs", remedy=f"--most {LEAST >> 10}KiB, or more")
    available = proc.value(proc.text("/proc/meminfo"), "MemAvailable")
    available_bytes = int(available.split()[0]) * 1024 if available else None
    if available_bytes is not None and most > available_bytes // 2:
        raise UserError(
            f"a ladder up to {most >> 20} MiB would take more than half of the {available_bytes >> 20} MiB of free memory",
            remedy=f"--most {available_bytes >> 21}MiB, or less",
        )
