"""Measures what each slicer achieves on this host, on a core shared as the daemon shares it, and chooses slicer and slice by that.

What a slicer costs a turn does not depend on the length of the turn (bench/sharing_slices.py shows both ends of it). So one slice is
measured and others are reckoned: the loss is that cost over the slice, and the p99 of N tenants that always poll grows by N - 1 slices.
"""

import contextlib
import json
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from windtunnel.engine.lines import Histogram
from windtunnel.finding import Finding
from windtunnel.host import facts, levels
from windtunnel.runs.histogram import merge, percentile
from windtunnel.sharing import polling_trial
from windtunnel.sharing.changed_threads import Journal
from windtunnel.sharing.host_diagnosis import findings, of_polling
from windtunnel.sharing.polling_trial import Load, Trial
from windtunnel.sharing.pools.shield import NoRealTime
from windtunnel.sharing.simulate import Machine, Noise
from windtunnel.sharing.simulate.plan import SECOND, sample
from windtunnel.sharing.slicers import SLICERS

SLICE_NS = 150_000
ROUNDS, SECONDS, LOAD = 3, 0.5, Load()
RESERVE = 1.05
"""The slice is so much longer than the cost of a turn asks for: that is how far two probes in one state of the host differ."""
LEAST_GAP_NS = 10_000
"""Shorter gaps of a tenant alone come from its clock."""
LEAST_AUTO_NS, MOST_AUTO_NS, STEP_NS = 50_000, 1_000_000, 5_000
MOST_KEPT = 16
VERSION = 1


@dataclass(frozen=True)
class Measured:
    """Medians of one slicer's trials on this host; if it is not available, only why."""

    name: str
    summary: str
    missing: str | None = None
    slice_p50_us: float | None = None
    slice_p99_us: float | None = None
    latency_p50_us: float | None = None
    latency_p99_us: float | None = None
    """Of the trial with the least: whatever else the host does only adds to it, and comes and goes for each slicer alike."""
    throughput: float | None = None
    """Useful time of the core, as a share of that of one tenant alone."""
    loss: float | None = None
    """Time of the core outside the tenants' slices."""
    turn_us: float | None = None
    """Of it for each slice."""
    off_points: float | None = None
    late_p99_us: float | None = None
    late: Histogram | None = None
    """Of all trials."""
    source: str | None = None
    warnings: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    """Findings of the diagnosis of its last trial."""

    @property
    def excluded(self) -> bool:
        """Other threads had too much of the core."""
        return any(finding.code == "neighbour" for finding in self.findings)


@dataclass(frozen=True)
class Probe:
    cpu: int
    slice_ns: int
    tenants: int
    seconds: float
    rounds: int
    shield: bool
    measured: list[Measured]
    gaps: list[tuple[int, int]]
    """Of a tenant alone on the core: ns, and how often. `alone_ns`: in so much time."""
    alone_ns: int


class Cost(BaseModel):
    """What is kept of a slicer's trials."""

    turn_ns: float
    p99_us: float
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


class _File(BaseModel):
    version: Literal[1]
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


def probe(
    journal: Journal,
    cpu: int,
    slice_ns: int = SLICE_NS,
    load: Load = LOAD,
    seconds: float = SECONDS,
    rounds: int = ROUNDS,
    shield: bool = True,
) -> Probe:
    """Each slicer for `seconds` in turn, after one tenant alone; `rounds` times."""
    alone: list[Trial] = []
    trials: dict[str, list[Trial]] = {name: [] for name in SLICERS}
    missing = {name: kind.missing(cpu) for name, kind in SLICERS.items()}
    for _ in range(rounds):
        alone.append(
            polling_trial.run(
                journal, "tick", cpu, slice_ns, Load(1, load.rate, load.service_ns), seconds, shield=shield
            )
        )
        for name, done in trials.items():
            if missing[name] is not None:
                continue
            try:
                done.append(polling_trial.run(journal, name, cpu, slice_ns, load, seconds, shield=shield))
            except NoRealTime as error:
                missing[name] = error.message
    measured = [
        Measured(name, SLICERS[name].summary, why)
        if (why := missing[name]) is not None
        else _measured(trials[name], alone, load)
        for name in SLICERS
    ]
    windows = [tenant for one in alone for tenant in one.tenants]
    gaps = merge(tenant.gap for tenant in windows)
    without = [(ns, count) for ns, count in gaps.counts if ns >= LEAST_GAP_NS] if gaps else []
    alone_ns = sum(tenant.end_ns - tenant.begin_ns for tenant in windows)
    return Probe(cpu, slice_ns, load.tenants, seconds, rounds, shield, measured, without, alone_ns)


def _measured(trials: list[Trial], alone: list[Trial], load: Load) -> Measured:
    last = trials[-1]
    tenants = of_polling(last.name, last.tenants, load.service_ns, load.working_set_bytes)
    poll_ns = median(one.poll_ns for one in alone)
    whole = median(one.useful(poll_ns) for one in alone)

    def middle(value: Callable[[Trial], float | None]) -> float | None:
        found = [value(trial) for trial in trials]
        numbers = [number for number in found if number is not None]
        return median(numbers) if len(numbers) == len(found) else None

    return Measured(
        name=last.name,
        summary=SLICERS[last.name].summary,
        slice_p50_us=middle(lambda one: one.slice_us(50)),
        slice_p99_us=middle(lambda one: one.slice_us(99)),
        latency_p50_us=middle(lambda one: one.latency_us(50)),
        latency_p99_us=min((us for one in trials if (us := one.latency_us(99)) is not None), default=None),
        throughput=middle(lambda one: one.useful(poll_ns) / whole),
        loss=middle(lambda one: one.loss),
        turn_us=middle(lambda one: one.loss * one.slicer.slice_ns / 1e3),
        off_points=middle(lambda one: one.off_points),
        late_p99_us=middle(_late_p99_us),
        late=merge(trial.slicer.late for trial in trials),
        source=last.slicer.source,
        warnings=tuple(last.slicer.warnings),
        findings=tuple(findings(last.name, last.slicer, tenants)),
    )


def _late_p99_us(trial: Trial) -> float | None:
    late = percentile(trial.slicer.late, 99)
    return None if late is None else late / 1e3


def choose(
    probes: Sequence[Kept], max_loss: float, slice_ns: int | None = None, among: Collection[str] | None = None
) -> Choice | None:
    """The least p99 within the loss limit, where a turn costs the most that a probe saw (hosts have states in which it costs more); where
    nothing is within it, the least loss. Without `slice_ns` each slicer has the shortest slice that keeps the limit. None: nothing was
    measured of these."""
    found = []
    for name in among if among is not None else SLICERS:
        seen = [(one, one.costs[name]) for one in probes if name in one.costs]
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


def machine(probes: Sequence[Kept], name: str) -> Machine:
    """The simulator's machine with the costs of a slicer on this host: of the probe in which a turn cost the most, with how late turns were
    and what the host took in all of them. Raises KeyError where none has the slicer."""
    seen = [(one, one.costs[name]) for one in probes if name in one.costs]
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


def shortest(turn_ns: float, max_loss: float) -> int:
    """The slice at which a slicer that costs `turn_ns` a turn keeps to the limit with RESERVE, in steps."""
    steps = -(-turn_ns * RESERVE // (max_loss * STEP_NS))
    return min(max(int(steps) * STEP_NS, LEAST_AUTO_NS), MOST_AUTO_NS)


def to_keep(found: Probe) -> Kept:
    """Trials with a neighbour on the core tell nothing. The tick has no turns."""
    costs = {
        one.name: Cost(
            turn_ns=one.turn_us * 1e3,
            p99_us=one.latency_p99_us,
            late=one.late.counts if one.late else [],
        )
        for one in found.measured
        if one.turn_us is not None and one.latency_p99_us is not None and not one.excluded and one.name != "tick"
    }
    return Kept(
        when=datetime.now(UTC),
        slice_ns=found.slice_ns,
        tenants=found.tenants,
        gaps=found.gaps,
        alone_ns=found.alone_ns,
        costs=costs,
    )


def file_of(cpu: int) -> Path:
    """Beside the host's levels."""
    return levels.default_file().with_name(f"share-probe-cpu{cpu}.json")


def kept(cpu: int, shield: bool = True) -> list[Kept]:
    """The probes of this CPU with this kernel and placement, oldest first; none where the file is of others, or damaged."""
    with contextlib.suppress(OSError, ValidationError):
        file = _File.model_validate_json(file_of(cpu).read_bytes())
        if file.host == levels.identity(facts.collect()) and file.shield == shield:
            return file.probes
    return []


def keep(found: Probe) -> bool:
    """Adds it to those of this CPU. False: it cannot be written."""
    probes = [*kept(found.cpu, found.shield), to_keep(found)][-MOST_KEPT:]
    file = _File(version=VERSION, host=levels.identity(facts.collect()), shield=found.shield, probes=probes)
    path = file_of(found.cpu)
    part = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(file.model_dump(mode="json"), indent=1))
        part.replace(path)
    except OSError:
        return False
    return True
