"""Estimates for a number of tenants on one core, by a fitted model or by the simulator: p99 with an interval, and the time lost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from windtunnel.sharing.model.form import Capacity
from windtunnel.sharing.model.points import Point
from windtunnel.sharing.model.record import SharingModel
from windtunnel.sharing.simulate import Machine, Phase, Plan, Tenant, simulate
from windtunnel.sharing.simulate.plan import SECOND

SEEDS = (1, 2, 3)
LEAST_REQUESTS = 3000
LONGEST_NS = 10 * SECOND
SIMULATED = "simulated, not measured"


@dataclass(frozen=True)
class Demand:
    """Identical tenants: requests a second of each, ns of CPU a request, bytes."""

    rate: float
    service_ns: int
    working_set: int = 0


@dataclass(frozen=True)
class Estimate:
    """Of one core. `p99_ns` None: overload. `lost`: share of the core's time that serves no tenant."""

    p99_ns: float | None
    low_ns: float | None
    high_ns: float | None
    lost: float


class Estimator(Protocol):
    """Estimates for `tenants` on one core with a slice."""

    source: str

    def at(self, tenants: int, slice_ns: int, demand: Demand) -> Estimate | None:
        """None outside the range of the estimator."""


class Fitted:
    """A model. Intervals come from its bootstrap and its held-out errors."""

    def __init__(self, model: SharingModel, name: str):
        self.model = model
        self.source = f"fitted: {name}, {model.slicer}, {model.p99_errors.points} points"
        held = [(one.p99_ns, one.point.p99_ns) for one in model.held if one.p99_ns and one.point.p99_ns]
        self.errors = np.array([said / measured for said, measured in held]) if held else np.ones(1)

    def at(self, tenants: int, slice_ns: int, demand: Demand) -> Estimate | None:
        """None outside the measured slices, and where the order was not measured."""
        low, high = self.model.bounds()
        if not low <= slice_ns <= high:
            return None
        point = Point(
            slicer=self.model.slicer, tenants=tenants, slice_ns=slice_ns, rate=demand.rate, served=demand.rate, p99_ns=None,
            service_ns=demand.service_ns, working_set=demand.working_set,
        )  # fmt: skip
        capacity, p99 = self.model.of()
        lost = 1 - capacity.useful(tenants, slice_ns, demand.working_set, self.model.machine)
        try:
            said = p99.at(point, capacity, self.model.machine)
            drawn = [self._drawn(draw, point) for draw in self.model.draws]
        except ValueError:
            return None
        if not np.isfinite(said):
            return Estimate(None, None, None, lost)
        true = np.outer([one for one in drawn if one] or [said], 1 / np.maximum(self.errors, 0.05))
        bounds = np.percentile(true, [2.5, 97.5])
        return Estimate(said, float(bounds[0]), float(bounds[1]), lost)

    def _drawn(self, draw: Sequence[float | None], point: Point) -> float | None:
        capacity, p99 = self.model.of(draw)
        try:
            said = p99.at(point, capacity, self.model.machine)
        except ValueError:
            return None
        return said if np.isfinite(said) else None


class Simulated:
    """The simulator, several seeds: the interval is their spread, without what the simulator does not model."""

    def __init__(self, policy: str, machine: Machine, costs: str = ""):
        """`costs`: where the machine's costs are from, in words; without: the simulator's own."""
        self.policy, self.machine = policy, machine
        self.source = f"{SIMULATED}, with {costs}" if costs else SIMULATED

    def at(self, tenants: int, slice_ns: int, demand: Demand) -> Estimate | None:
        lost = Capacity(self.machine.kick_ns + self.machine.switch_ns, 0.0, None)
        useful = lost.useful(tenants, slice_ns, demand.working_set, self.machine)
        if demand.rate * demand.service_ns * tenants / SECOND >= useful:
            return Estimate(None, None, None, 1 - useful)
        found = [self._once(tenants, slice_ns, demand, seed) for seed in SEEDS]
        p99 = [document["all"]["p99"] for document in found]
        times = [document["core_time"] for document in found]
        lost_share = float(np.median([one["switching"] + one["refilled"] for one in times]))
        if None in p99 or any(document["all"]["dropped"] for document in found):
            return Estimate(None, None, None, lost_share)
        return Estimate(float(np.median(p99)), min(p99), max(p99), lost_share)

    def _once(self, tenants: int, slice_ns: int, demand: Demand, seed: int) -> dict[str, Any]:
        turns = 200 * tenants * slice_ns
        enough = int(LEAST_REQUESTS * SECOND / (demand.rate * tenants)) if demand.rate else turns
        duration = min(max(turns, enough, SECOND // 10), LONGEST_NS)
        phases = (Phase(0, demand.rate),)
        alike = tuple(
            Tenant(f"t{number}", phases=phases, service_ns=demand.service_ns, working_set=demand.working_set)
            for number in range(tenants)
        )
        return simulate(Plan(alike, self.policy, slice_ns, duration, 0, seed, self.machine)).document()
