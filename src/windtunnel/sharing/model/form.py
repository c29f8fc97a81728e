"""The form: capacity and p99 of N tenants on a core with slices of S. At most eight numbers are fitted, the rest is arithmetic.

capacity    A slice loses `slice_ns` to its switch and r times the refill that the L2 needs (cache.py's equation, which has the working
            sets), and a request costs `request_ns` beside its service s. With y requests a second of all tenants at overload:
                1 - y s = slice_ns/S + r refill/S + request_ns y
            which is linear in the three.
p99         A tenant is away for V = (N - 1) S of every T = N S (a polling server's vacation). Of requests that come evenly 1% come so
            early in the vacation that they wait longer than V - 0.01 T; that times `turns` is what a quiet tenant has, plus `service` times
            the cost of a request (more than 1 where costs are uneven), plus `fixed_ns`.
            Where the kernel's custom slice (at least 0.1 ms) is longer than what a turn leaves, and there are three or more, old deadlines
            decide the order and it is (`turns` + `unordered`) times as long. Requests that pile up during a vacation are served in the next turns:
            `queue` times N s r/(1 - r), the tail of a queue whose server is there for 1/N of the time, at utilisation r of its share.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from windtunnel.model.arrays import Floats, Mask
from windtunnel.sharing.model.points import Point
from windtunnel.sharing.simulate.cache import LINE, remaining
from windtunnel.sharing.simulate.plan import SECOND, Machine
from windtunnel.sharing.simulate.policies.kicker import custom_slice

QUANTILE = 0.99
OVERLOAD = 1.03
"""Offered over served, from which on a point gives the capacity."""
FULLEST = 0.95
"""Utilisation of a tenant's share up to which p99 is modelled: beyond, it depends on the length of the run."""
P99_NAMES = ("turns", "unordered", "queue", "service", "fixed_ns")


@dataclass(frozen=True)
class Capacity:
    """ns. `refill`: factor of the L2's equation; None: no working set overflowed the L2."""

    slice_ns: float
    request_ns: float
    refill: float | None

    def useful(self, tenants: int, slice_ns: int, working_set: int, machine: Machine) -> float:
        """Share of the core's time that serves. A tenant alone is not switched."""
        if tenants < 2:
            return 1.0
        lost = self.slice_ns + (1.0 if self.refill is None else self.refill) * refill_ns(
            tenants, slice_ns, working_set, machine
        )
        return max(1 - lost / slice_ns, 0.0)

    def peak(self, tenants: int, slice_ns: int, service_ns: int, working_set: int, machine: Machine) -> float:
        """Requests a second of each tenant."""
        return self.useful(tenants, slice_ns, working_set, machine) * SECOND / (service_ns + self.request_ns) / tenants


def refill_ns(tenants: int, slice_ns: int, working_set: int, machine: Machine) -> float:
    """ns of a slice in which lines come back that other tenants evicted from the L2."""
    lines, room = working_set / LINE, machine.l2_bytes / LINE
    own = min(lines, room)
    if tenants < 2 or not own:
        return 0.0
    gone = min(max(tenants * own - room, 0.0) / own, 1.0)
    return machine.miss_ns * own * (gone - remaining(gone, own, slice_ns, machine.touch_ns, machine.miss_ns))


def fit_capacity(points: Sequence[Point], machine: Machine) -> Capacity | None:
    """From overloaded points; None where there are fewer than two."""
    full = [p for p in points if p.rate > OVERLOAD * p.served > 0]
    if len(full) < 2:
        return None
    refills = np.array([refill_ns(p.tenants, p.slice_ns, p.working_set, machine) / p.slice_ns for p in full])
    turns = np.array([1 / p.slice_ns if p.tenants > 1 else 0.0 for p in full])
    served = np.array([p.served * p.tenants / SECOND for p in full])
    lost = 1 - served * np.array([p.service_ns for p in full])
    columns = [turns, served] + ([refills] if refills.any() else [])
    # a request's own cost is at least 0; scaled, because nnls stops at absolute tolerances
    scale = [1e-6, 1e-3, 1.0][: len(columns)]
    found, _ = nnls(np.column_stack([c / s for c, s in zip(columns, scale, strict=True)]), np.maximum(lost, 0))
    values = [float(x / s) for x, s in zip(found, scale, strict=True)]
    return Capacity(values[0], values[1], values[2] if len(values) > 2 else None)


@dataclass(frozen=True)
class P99:
    """Coefficients in the order of P99_NAMES; `unordered` is None where no point determines it."""

    turns: float
    unordered: float | None
    queue: float
    service: float
    fixed_ns: float

    def at(self, point: Point, capacity: Capacity, machine: Machine) -> float:
        """ns; infinite where the tenant's share does not carry the load. Raises ValueError for an order that was not fitted."""
        row = features(point, capacity, machine)
        if row is None:
            return float("inf")
        if row[1] and self.unordered is None:
            raise ValueError("no point had slices so short that old deadlines decide the order")
        return float(row @ np.array([self.turns, self.unordered or 0.0, self.queue, self.service, self.fixed_ns]))


def features(point: Point, capacity: Capacity, machine: Machine) -> Floats | None:
    """The factors of the coefficients, ns; None beyond FULLEST."""
    n, period = point.tenants, point.slice_ns
    peak = capacity.peak(n, period, point.service_ns, point.working_set, machine)
    if point.rate >= FULLEST * peak:
        return None
    r = point.rate / peak
    away = max((n - 1) * period - (1 - QUANTILE) * n * period, 0.0)
    cost = point.service_ns + capacity.request_ns
    return np.array([away, away * unordered(point, capacity), n * cost * r / (1 - r), cost, 1.0])


def unordered(point: Point, capacity: Capacity) -> bool:
    """Whether old deadlines decide the order: with the kicker, and slices longer than a turn."""
    left = point.slice_ns - capacity.slice_ns
    return point.slicer.startswith("kicker") and point.tenants > 2 and custom_slice(point.slice_ns) > left


def fit_p99(points: Sequence[Point], capacity: Capacity, machine: Machine) -> P99 | None:
    """Least squares of relative errors, no coefficient below 0; None where there are fewer points than coefficients."""
    rows = [
        (row, p.p99_ns)
        for p in points
        if p.p99_ns and p.rate <= OVERLOAD * p.served and (row := features(p, capacity, machine)) is not None
    ]
    if len(rows) < len(P99_NAMES):
        return None
    matrix = np.array([row / p99 for row, p99 in rows])
    known: Mask = np.any(matrix, axis=0)
    values = np.zeros(len(P99_NAMES))
    values[known], _ = nnls(matrix[:, known], np.ones(len(rows)))
    turns, unordered_, queue, service, fixed_ns = map(float, values)
    return P99(turns, unordered_ if known[1] else None, queue, service, fixed_ns)
