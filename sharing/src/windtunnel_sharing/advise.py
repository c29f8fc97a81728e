"""Recommends a slice and a number of cores for an SLO, with the cost; where none meets it, a setting that would.

Tenants are alike and spread evenly; a core with the most of them decides. A longer slice loses less time, so the advice is the longest slice
that meets the SLO, on the fewest cores on which one does. The upper end of the estimate has to meet the SLO.
"""

from dataclasses import asdict, dataclass
from math import ceil
from statistics import median
from typing import Any

import numpy as np

from windtunnel.api.errors import UserError
from windtunnel.api.settings import option
from windtunnel_sharing import MAX_LOSS, costs, polling_trial
from windtunnel_sharing.changed_threads import Journal
from windtunnel_sharing.polling_trial import Load
from windtunnel_sharing.simulate import POLICIES, Machine, Phase, Plan, Tenant, simulate
from windtunnel_sharing.simulate.cache import refill_ns
from windtunnel_sharing.simulate.plan import CPU_WEIGHT, MOST_CORES, MOST_TENANTS, SECOND
from windtunnel_sharing.slicers import SLICERS

SEEDS = (1, 2, 3)
LEAST_REQUESTS = 3000
LONGEST_NS = 10 * SECOND
SIMULATED = "simulated, not measured"
CHECKS, CHECK_S = 3, 1.0
SHORT = 1.5
"""Live p99 over simulated: nine of ten live points are below it (bench/sharing_simulator.py)."""

SLICES_NS = tuple(us * 1000 for us in (50, 70, 100, 120, 150, 200, 300, 500, 700, 1000, 2000, 5000))
HOPELESS = 0.8
"""In parts of (n - 1) slices: no p99 was measured below that."""


@dataclass(frozen=True)
class Demand:
    """Identical tenants: requests per second of each, ns of CPU a request, bytes."""

    rate: float
    service_ns: int
    working_set: int = 0


@dataclass(frozen=True)
class Estimate:
    """Of one core. `p99_ns` None: overload. `lost`: share of the core's time that serves no tenant."""

    p99_ns: float | None
    high_ns: float | None
    """What the p99 stays below on nine of ten live points."""
    lost: float


class Estimator:
    """The simulator, several seeds."""

    def __init__(self, policy: str, machine: Machine, costs: str = ""):
        """`costs`: where the machine's costs are from, in words; without: the simulator's own."""
        self.policy, self.machine = policy, machine
        self.source = f"{SIMULATED}, with {costs}" if costs else SIMULATED

    def at(self, tenants: int, slice_ns: int, demand: Demand) -> Estimate:
        """Of `tenants` on one core."""
        useful = self._useful(tenants, slice_ns, demand.working_set)
        if demand.rate * demand.service_ns * tenants / SECOND >= useful:
            return Estimate(None, None, 1 - useful)
        found = [self._once(tenants, slice_ns, demand, seed) for seed in SEEDS]
        p99 = [document["all"]["p99"] for document in found]
        times = [document["core_time"] for document in found]
        lost = float(np.median([one["switching"] + one["refilled"] for one in times]))
        if None in p99 or any(document["all"]["dropped"] for document in found):
            return Estimate(None, None, lost)
        said = float(np.median(p99))
        return Estimate(said, SHORT * said, lost)

    def _useful(self, tenants: int, slice_ns: int, working_set: int) -> float:
        """Share of the core's time that serves. A tenant alone is not switched."""
        if tenants < 2:
            return 1.0
        lost = self.machine.kick_ns + self.machine.switch_ns + refill_ns(tenants, slice_ns, working_set, self.machine)
        return max(1 - lost / slice_ns - self.machine.noise.share, 0.0)

    def _once(self, tenants: int, slice_ns: int, demand: Demand, seed: int) -> dict[str, Any]:
        turns = 200 * tenants * slice_ns
        enough = int(LEAST_REQUESTS * SECOND / (demand.rate * tenants)) if demand.rate else turns
        duration = min(max(turns, enough, SECOND // 10), LONGEST_NS)
        alike = tuple(
            Tenant(f"t{number}", phases=(Phase(0, demand.rate),), service_ns=demand.service_ns, working_set=demand.working_set)
            for number in range(tenants)
        )  # fmt: skip
        return simulate(Plan(alike, self.policy, slice_ns, duration, 0, seed, self.machine)).document()


def estimator(cpu: int) -> tuple[Estimator, str]:
    """The simulator for the slicer that the daemon picks on this CPU, with its costs there; where none was probed, for the kicker with the
    simulator's own. Returns the slicer's name with it."""
    probes = costs.kept(cpu)
    able = [name for name in SLICERS if name.removesuffix("-far") in POLICIES]
    picked = costs.choose(probes, MAX_LOSS, among=able)
    if picked is None:
        return Estimator("kicker", Machine()), "kicker"
    words = f"this host's costs: {picked.name} by {len(probes)} probe{'s' if len(probes) > 1 else ''}"
    return Estimator(picked.name.removesuffix("-far"), costs.machine(probes, picked.name), words), picked.name


@dataclass(frozen=True)
class Slo:
    """p99 of a request, from its intended moment to the end of its service."""

    p99_ns: int


def slo_of(text: str) -> Slo:
    """p99=500us. Raises UserError for anything else."""
    name, equals, value = text.partition("=")
    if name.strip() != "p99" or not equals:
        raise UserError(f'--slo: "{text}" is not an SLO', remedy="a bound of p99, as in p99=500us")
    return Slo(int(option("--slo p99", "duration", value.strip(), "1ns", "1h")))


@dataclass(frozen=True)
class Choice:
    """A number of cores with a slice. `estimate` is of a core with `per_core` tenants."""

    cores: int
    per_core: int
    slice_ns: int
    weight: int
    """Of each tenant: its part of the cores, 256 for a whole one."""
    estimate: Estimate
    met: bool


@dataclass(frozen=True)
class Advice:
    """`chosen` None: no requested setting meets the SLO; then `nearest` is the nearest on these cores, and `instead` one that meets it."""

    slo: Slo
    tenants: int
    source: str
    chosen: Choice | None
    nearest: Choice | None
    instead: Choice | None
    others: list[Choice]
    """The best of other numbers of cores."""

    def document(self) -> dict[str, Any]:
        return asdict(self)


def advise(estimator: Estimator, slo: Slo, tenants: int, demand: Demand, cores: int | None) -> Advice:
    """`cores` None: as few as meet the SLO. Raises UserError for numbers out of range."""
    if not 1 <= tenants <= MOST_TENANTS:
        raise UserError(f"--tenants {tenants}", remedy=f"from 1 to {MOST_TENANTS}")
    if cores is not None and not 1 <= cores <= MOST_CORES:
        raise UserError(f"--cores {cores}", remedy=f"from 1 to {MOST_CORES}, or auto")
    if cores is not None:
        best = _best(estimator, slo, tenants, demand, min(cores, tenants))
        if best is not None and best.met:
            return Advice(slo, tenants, estimator.source, best, None, None, [])
        more = _fewest(estimator, slo, tenants, demand, min(cores, tenants) + 1)
        return Advice(slo, tenants, estimator.source, None, best, more, [])
    fewest = _fewest(estimator, slo, tenants, demand, 1)
    if fewest is None:
        alone = _best(estimator, slo, tenants, demand, tenants)
        return Advice(slo, tenants, estimator.source, None, alone, None, [])
    others = [
        _best(estimator, slo, tenants, demand, other)
        for other in (fewest.cores - 1, 2 * fewest.cores)
        if 1 <= other < tenants
    ]
    return Advice(slo, tenants, estimator.source, fewest, None, None, [one for one in others if one])


def _fewest(estimator: Estimator, slo: Slo, tenants: int, demand: Demand, least: int) -> Choice | None:
    """The fewest cores, from `least` on, on which some slice meets the SLO."""
    per_core = ceil(tenants / least) if least <= tenants else 0
    while per_core >= 1:
        cores = ceil(tenants / per_core)
        if (per_core - 1) * SLICES_NS[0] * HOPELESS < slo.p99_ns:
            best = _best(estimator, slo, tenants, demand, cores)
            if best is not None and best.met:
                return best
        per_core -= 1
    return None


def _best(estimator: Estimator, slo: Slo, tenants: int, demand: Demand, cores: int) -> Choice | None:
    """The longest slice that meets the SLO on these cores; where none does, the one with the least p99, None where all are overloaded."""
    per_core = ceil(tenants / cores)
    nearest: tuple[float, Choice] | None = None
    slices = SLICES_NS if per_core > 1 else SLICES_NS[3:4]
    for slice_ns in reversed(slices):
        if (per_core - 1) * slice_ns * HOPELESS > slo.p99_ns and slice_ns != slices[0]:
            continue
        estimate = estimator.at(per_core, slice_ns, demand)
        if estimate.p99_ns is None:
            continue
        met = estimate.high_ns is not None and estimate.high_ns <= slo.p99_ns
        choice = Choice(cores, per_core, slice_ns, max(CPU_WEIGHT * cores // tenants, 1), estimate, met)
        if met:
            return choice
        if nearest is None or estimate.p99_ns < nearest[0]:
            nearest = estimate.p99_ns, choice
    return nearest and nearest[1]


@dataclass(frozen=True)
class Check:
    """One of the advised cores, run: of the trials' p99 the median, the least and the greatest; of their losses the median."""

    cpu: int
    p99_ns: float
    low_ns: float
    high_ns: float
    lost: float


def check(journal: Journal, choice: Choice, slicer: str, demand: Demand, cpu: int) -> Check:
    """Runs `choice.per_core` tenants on `cpu`. Raises UserError where that cannot be, or too few requests came for a p99."""
    load = Load(choice.per_core, demand.rate, demand.service_ns, demand.working_set, demand.working_set and 64)
    trials = [
        polling_trial.run(journal, slicer, cpu, choice.slice_ns, load, CHECK_S, seed=seed) for seed in range(CHECKS)
    ]
    p99s = [1e3 * us for one in trials if (us := one.latency_us(99)) is not None]
    if len(p99s) < CHECKS:
        raise UserError("too few requests for a p99", remedy="a higher --load")
    return Check(cpu, median(p99s), min(p99s), max(p99s), median(one.loss for one in trials))
