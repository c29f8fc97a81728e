"""Recommends a slice and a number of cores for an SLO, with the cost; where none meets it, a setting that would.

Tenants are alike and spread evenly; a core with the most of them decides. A longer slice loses less time, so the advice is the longest slice
that meets the SLO, on the fewest cores on which one does. The upper end of the interval has to meet the SLO.
"""

from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

from windtunnel.errors import UserError
from windtunnel.scenario.quantities import option
from windtunnel.sharing.model.estimators import Demand, Estimate, Estimator
from windtunnel.sharing.simulate.plan import CPU_WEIGHT, MOST_CORES, MOST_TENANTS

SLICES_NS = tuple(us * 1000 for us in (50, 70, 100, 120, 150, 200, 300, 500, 700, 1000, 2000, 5000))
HOPELESS = 0.8
"""In parts of (n - 1) slices: no p99 was measured below that."""


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
        if estimate is None or estimate.p99_ns is None:
            continue
        met = estimate.high_ns is not None and estimate.high_ns <= slo.p99_ns
        choice = Choice(cores, per_core, slice_ns, max(CPU_WEIGHT * cores // tenants, 1), estimate, met)
        if met:
            return choice
        if nearest is None or estimate.p99_ns < nearest[0]:
            nearest = estimate.p99_ns, choice
    return nearest and nearest[1]
