"""What slicers cost on this host, by the probes that were kept, and which slicer and slice that makes best.

What a slicer costs a turn does not depend on the length of the turn (bench/sharing_slices.py shows both ends of it). So one slice is
measured and others are reckoned: the loss is that cost over the slice, and the p99 of N tenants that always poll grows by N - 1 slices.
"""

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from windtunnel.api.errors import UserError
from windtunnel.api.files import home
from windtunnel.api.host import facts, levels
from windtunnel_sharing.simulate import Machine, Noise
from windtunnel_sharing.simulate.plan import SECOND, sample
from windtunnel_sharing.slicers import SLICERS

RESERVE = 1.05
"""The slice is so much longer than the cost of a turn asks for: that is how far two probes in one state of the host differ."""
LEAST_AUTO_NS, MOST_AUTO_NS, STEP_NS = 50_000, 1_000_000, 5_000
MOST_KEPT = 16
MOST_BYTES = 16 << 20
VERSION = 2
"""Of the file. Version 1 had the least p99 of a probe's trials, which cannot be compared with their middle."""


class Cost(BaseModel):
    """What is kept of a slicer's trials."""

    turn_ns: float
    p99_us: float
    """The middle of the trials."""
    late: list[tuple[int, int]]
    """Lateness of turns: ns, and how often."""


class Kept(BaseModel):
    """What is kept of a probe."""

    when: datetime
    slice_ns: int
    tenants: int
    gaps: list[tuple[int, int]]
    """What a tenant alone was without its core: ns, and how often."""
    alone_ns: int
    """Length of these trials."""
    costs: dict[str, Cost]

    @property
    def taken(self) -> float:
        """Share of the core that the host took from a tenant alone."""
        return sum(ns * count for ns, count in self.gaps) / self.alone_ns


class _File(BaseModel):
    version: Literal[2]
    host: dict[str, Any]
    shield: bool
    probes: list[Kept]


@dataclass(frozen=True)
class Choice:
    """A slicer and a slice, with what the probes let one expect of them."""

    name: str
    slice_ns: int
    p99_us: float
    loss: float


def choose(
    probes: Sequence[Kept], max_loss: float, slice_ns: int | None = None, among: Collection[str] | None = None
) -> Choice | None:
    """The least p99 within the loss limit, where a turn costs the most that a probe saw (hosts have states in which it costs more); where
    nothing is within it, the least loss. Without `slice_ns` each slicer has the shortest slice that keeps the limit. None: nothing was
    measured of these."""
    found = []
    for name in among if among is not None else SLICERS:
        seen = _of(probes, name)
        if not seen:
            continue
        turn_ns = max(cost.turn_ns for _, cost in seen)
        length = slice_ns or shortest(turn_ns, max_loss)
        p99_us = median(cost.p99_us + (one.tenants - 1) * (length - one.slice_ns) / 1e3 for one, cost in seen)
        found.append(Choice(name, length, p99_us, turn_ns / length))
    within = [choice for choice in found if choice.loss <= max_loss]
    if within:
        return min(within, key=lambda choice: choice.p99_us)
    return min(found, key=lambda choice: choice.loss, default=None)


def turn_cost_ns(probes: Sequence[Kept], name: str) -> int:
    """What a turn of a slicer takes from its tenant, without what the host takes of the core anyway: the median of the probes; 0 where none
    has the slicer."""
    seen = _of(probes, name)
    return round(median(max(cost.turn_ns - one.taken * one.slice_ns, 0) for one, cost in seen)) if seen else 0


def machine(probes: Sequence[Kept], name: str) -> Machine:
    """The simulator's machine with the costs of a slicer on this host: of the probe in which a turn cost the most, with how late turns were
    and what the host took in all of them. Raises KeyError where none has the slicer."""
    seen = _of(probes, name)
    if not seen:
        raise KeyError(name)
    worst, cost = max(seen, key=lambda pair: pair[1].turn_ns)
    gaps = [gap for one, _ in seen for gap in one.gaps]
    noise = Noise(sum(count for _, count in gaps) * SECOND / sum(one.alone_ns for one, _ in seen), 0, sample(gaps))
    return replace(
        Machine(),
        kick_ns=0,
        # what the host takes of the core anyway is in the loss of a turn too
        switch_ns=max(round(cost.turn_ns - noise.share * worst.slice_ns), 0),
        late=sample(late for _, one in seen for late in one.late),
        late_ns=0,
        noise=noise,
    )


def _of(probes: Sequence[Kept], name: str) -> list[tuple[Kept, Cost]]:
    return [(one, one.costs[name]) for one in probes if name in one.costs]


def shortest(turn_ns: float, max_loss: float) -> int:
    """The slice at which a slicer that costs `turn_ns` a turn keeps to the limit with RESERVE, in steps."""
    steps = -(-turn_ns * RESERVE // (max_loss * STEP_NS))
    return min(max(int(steps) * STEP_NS, LEAST_AUTO_NS), MOST_AUTO_NS)


def file_of(cpu: int) -> Path:
    """Beside the host's levels."""
    return levels.default_file().with_name(f"share-probe-cpu{cpu}.json")


def kept(cpu: int, shield: bool = True) -> list[Kept]:
    """The probes of this CPU with this kernel and placement, oldest first; none where the file is of others, or damaged."""
    with contextlib.suppress(OSError, UserError, ValidationError):
        file = _File.model_validate_json(home.read(file_of(cpu), MOST_BYTES))
        if file.host == levels.identity(facts.collect()) and file.shield == shield:
            return file.probes
    return []


def keep(found: Kept, cpu: int, shield: bool = True) -> bool:
    """Adds it to those of this CPU. False: it cannot be written."""
    probes = [*kept(cpu, shield), found][-MOST_KEPT:]
    file = _File(version=VERSION, host=levels.identity(facts.collect()), shield=shield, probes=probes)
    try:
        home.keep(file_of(cpu), file.model_dump_json(indent=1).encode())
    except (OSError, UserError):
        return False
    return True
