"""Measures what each slicer achieves on this host, on a core shared as the daemon shares it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median

from windtunnel.api.errors import Finding
from windtunnel.api.histograms import Histogram, merge, percentile
from windtunnel_sharing import polling_trial
from windtunnel_sharing.changed_threads import Journal
from windtunnel_sharing.costs import Cost, Kept
from windtunnel_sharing.host_diagnosis import findings, of_polling
from windtunnel_sharing.polling_trial import Load, Trial
from windtunnel_sharing.pools.shield import NoRealTime
from windtunnel_sharing.slicers import SLICERS

SLICE_NS = 150_000
ROUNDS, SECONDS, LOAD = 3, 0.5, Load()
LEAST_GAP_NS = 10_000
"""Shorter gaps of a tenant alone come from its clock."""


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
        latency_p99_us=middle(lambda one: one.latency_us(99)),
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
