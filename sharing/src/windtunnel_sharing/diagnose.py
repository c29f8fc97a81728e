"""Why tenants that share a core are slow: what the figures of a run say, each finding with its evidence and a remedy.

A pure function of `Shared`. What was not measured is None there; a check that needs it is named in `not_measured` and finds nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from windtunnel.api.documents import format as fmt
from windtunnel.api.errors import Finding, NotMeasured, require
from windtunnel.api.histograms import Histogram, percentile
from windtunnel_sharing.simulate.cache import refill_ns
from windtunnel_sharing.simulate.plan import Machine
from windtunnel_sharing.simulate.policies.kicker import LEAST_CUSTOM_NS, OF_PERIOD
from windtunnel_sharing.slicers.readings import SliceReading, own_share

SWITCH_NS = 7000
"""What a slice was seen to cost on a KVM guest, where no model says what it costs here."""
FAIR_SERVER_NS = (25_000_000, 60_000_000)
"""Length of its gaps: it runs others for about 50 ms a second, in one piece or two."""
FAIR_SERVER_SHARE = (0.02, 0.08)
LEAST_OWN_SHARE = 0.97
MOST_REFILL = 0.05
MOST_LOSS = 0.15
FULL = 0.95


@dataclass(frozen=True)
class SharedTenant:
    """One tenant. `asks`: CPU time that its requests need, as a share of one CPU; `share`: what of the core it got."""

    name: str
    asks: float | None = None
    share: float | None = None
    offered: int | None = None
    served: int | None = None
    lost: int | None = None
    working_set: int | None = None
    real_time: bool | None = None


@dataclass(frozen=True)
class Shared:
    """One core over an interval, as it was seen. Times are ns; `slice_ns` is what was asked for."""

    slicer: str
    slice_ns: int
    interval_ns: int
    tenants: list[SharedTenant]
    slices: Histogram | None = None
    gaps: Histogram | None = None
    late: Histogram | None = None
    own_share: float | None = None
    pool: str = "ls"
    tick_ns: int | None = None
    l2_bytes: int | None = None
    switch_ns: int | None = None
    """Cost of a slice on this host (`slice_ns` of a fitted model). None: that of another host."""


@dataclass(frozen=True)
class Host:
    """What is known of the host of a core; as in `Shared`."""

    pool: str = "ls"
    tick_ns: int | None = None
    l2_bytes: int | None = None
    switch_ns: int | None = None


UNKNOWN_HOST = Host()


@dataclass(frozen=True)
class Diagnosis:
    """Findings, and the checks that could not be made."""

    findings: list[Finding] = field(default_factory=list)
    not_measured: list[str] = field(default_factory=list)
    """Codes of the checks without the values that they need."""


def of_reading(slicer: str, seen: SliceReading, tenants: list[SharedTenant], host: Host = UNKNOWN_HOST) -> Shared:
    """From a slicer's reading of its core."""
    return Shared(
        slicer,
        seen.slice_ns,
        seen.interval_ns,
        tenants,
        seen.slice,
        seen.gap,
        seen.late if seen.kicks else None,
        own_share(seen),
        host.pool,
        host.tick_ns,
        host.l2_bytes,
        host.switch_ns,
    )


def diagnose(run: Shared) -> Diagnosis:
    """All checks, in the order in which to try their remedies."""
    found, not_measured = [], []
    for code, check in CHECKS.items():
        try:
            finding = check(run)
        except NotMeasured:
            not_measured.append(code)
            continue
        if finding is not None:
            found.append(finding)
    return Diagnosis(found, not_measured)


def tick_bound(run: Shared) -> Finding | None:
    """Slices end at the kernel's tick, not at the requested length."""
    tick, median = require(run.tick_ns), require(percentile(run.slices, 50))
    alone = len(run.tenants) < 2  # no other tenant shares the core
    if alone or run.slice_ns > tick / 2 or median < 0.6 * tick:
        return None
    return Finding(
        "tick-bound",
        "slices end at the tick",
        f"requested slice {_us(run.slice_ns)}, median slice {_us(median)}, tick {_us(tick)}",
        "use a slicer that works on this host: `windtunnel share probe` measures them; the kicker needs no kernel feature",
    )


def fair_server(run: Shared) -> Finding | None:
    """Real-time tenants stand still while the kernel runs normal tasks for ~50 ms a second."""
    if not any(require(tenant.real_time) for tenant in run.tenants):
        return None
    low, high = FAIR_SERVER_NS
    long = [(at, count) for at, count in require(run.gaps).counts if low <= at <= high]
    # each tenant has the same gap
    total = sum(at * count for at, count in long) / len(run.tenants)
    share = total / run.interval_ns
    if not FAIR_SERVER_SHARE[0] <= share <= FAIR_SERVER_SHARE[1]:
        return None
    count = sum(count for _, count in long) / len(run.tenants)
    return Finding(
        "fair-server",
        "the kernel's fair server takes the core from real-time tenants",
        f"{count:.0f} gaps of {_us(low)} to {_us(high)} in {fmt.duration(run.interval_ns)}, {fmt.percent(share)} of the time: "
        "normal tasks get about 50 ms a second of a core with real-time tasks",
        "keep normal tasks off the core (a cpuset), or use the kicker, whose tenants are normal tasks; sched_rt_runtime_us does not help",
    )


def neighbour(run: Shared) -> Finding | None:
    """Other threads run on a core of `ls`."""
    if run.pool != "ls":
        return None
    own = require(run.own_share)
    if own >= LEAST_OWN_SHARE:
        return None
    return Finding(
        "neighbour",
        "other threads run on the core",
        f"tenants had {fmt.percent(own)} of the CPU time, other threads {fmt.percent(1 - own)}",
        "use the shield cgroup of `windtunnel share serve`, or a cpuset; every gap may be another thread's slice",
    )


def cache_thrash(run: Shared) -> Finding | None:
    """Working sets overflow the L2, and a slice is too short to load them again."""
    sets = [require(tenant.working_set) for tenant in run.tenants]
    room, count = require(run.l2_bytes), len(sets)
    if count < 2 or sum(sets) <= room:
        return None
    machine, mean = Machine(l2_bytes=room), sum(sets) // count
    share = refill_ns(count, run.slice_ns, mean, machine) / run.slice_ns
    if share < MOST_REFILL:
        return None
    longer = next(
        (
            s
            for s in (2, 5, 10, 20, 50)
            if refill_ns(count, s * run.slice_ns, mean, machine) < share / 2 * s * run.slice_ns
        ),
        50,
    )
    return Finding(
        "cache-thrash",
        "working sets evict each other from the L2",
        f"{count} x {fmt.size(mean)} on an L2 of {fmt.size(room)}: by the refill equation, {fmt.percent(share)} of each {_us(run.slice_ns)} "
        "load lines again",
        f"use slices of {_us(longer * run.slice_ns)}, fewer tenants per core, or smaller working sets (up to {fmt.size(room // count)} each fit)",
    )


def short_slice(run: Shared) -> Finding | None:
    """A slice below its useful minimum: switches use it up, kicks are too late, or the kernel's least custom slice is longer."""
    cost = run.switch_ns or SWITCH_NS
    least = int(cost / MOST_LOSS)
    reasons = []
    if run.slice_ns < least:
        whose = "on this host" if run.switch_ns else "on the host of the reference measurement"
        reasons.append(f"a switch costs {_us(cost)} {whose}, {fmt.percent(cost / run.slice_ns)} of {_us(run.slice_ns)}")
    late = percentile(run.late, 99)
    if late is not None and late > run.slice_ns / 2:
        reasons.append(f"1% of the kicks are more than {_us(late)} late")
        least = max(least, 2 * late)
    ordered = int((LEAST_CUSTOM_NS + cost) * 1.02)
    if run.slicer.startswith("kicker") and len(run.tenants) > 2 and run.slice_ns - cost < LEAST_CUSTOM_NS:
        reasons.append(
            f"the kernel's least custom slice is {_us(LEAST_CUSTOM_NS)}: with shorter turns old deadlines decide the order, and p99 is about twice as long"
        )
        least = max(least, ordered, int(LEAST_CUSTOM_NS / OF_PERIOD))
    if not reasons:
        return None
    return Finding(
        "short-slice",
        "the slice is below its useful minimum",
        "; ".join(reasons),
        f"use a slice of {_us(least)} or more",
    )


def overload(run: Shared) -> Finding | None:
    """A tenant's load is above its share."""
    measured, reasons = False, []
    for tenant in run.tenants:
        if tenant.asks is not None and tenant.share is not None:
            measured = True
            if tenant.asks > FULL * tenant.share:
                reasons.append(
                    f"{tenant.name} needs {fmt.percent(tenant.asks)} of a CPU and has {fmt.percent(tenant.share)}"
                )
                continue
        if tenant.offered and tenant.served is not None and tenant.lost is not None:
            measured = True
            if tenant.lost and tenant.served < FULL * tenant.offered:
                reasons.append(f"{tenant.name} served {fmt.count(tenant.served)} of {fmt.count(tenant.offered)}")
    if reasons:
        return Finding(
            "overload",
            "the load is above the share",
            "; ".join(reasons[:5]) + (f"; and {len(reasons) - 5} more" if len(reasons) > 5 else ""),
            "use a larger weight, another core for `ls`, or the autoscaler; in overload p99 shows only the length of the run",
        )
    if not measured:
        raise NotMeasured
    return None


def _us(ns: float) -> str:
    return fmt.duration(ns)


CHECKS: dict[str, Callable[[Shared], Finding | None]] = {
    "overload": overload,
    "tick-bound": tick_bound,
    "fair-server": fair_server,
    "neighbour": neighbour,
    "short-slice": short_slice,
    "cache-thrash": cache_thrash,
}
