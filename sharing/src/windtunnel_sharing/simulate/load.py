"""Requests of a tenant: arrivals, service times, and their completion on the CPU time that the tenant got."""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windtunnel_sharing.simulate.plan import SECOND, Tenant

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
SPREAD = 0.5
"""Standard deviation of the logarithm, of `lognormal` service times."""


def arrivals(tenant: Tenant, duration_ns: int, rng: np.random.Generator) -> Ints:
    """Moments in ns, ascending, int64[n]: a Poisson process for each phase."""
    ends = [*(phase.from_ns for phase in tenant.phases[1:]), duration_ns]
    parts = [
        _poisson(p.from_ns, min(end, duration_ns), p.rate, rng) for p, end in zip(tenant.phases, ends, strict=False)
    ]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _poisson(begin: int, end: int, rate: float, rng: np.random.Generator) -> Ints:
    """Given their number, the moments of a Poisson process are uniform."""
    if end <= begin or rate == 0:
        return np.empty(0, np.int64)
    count = rng.poisson(rate * (end - begin) / SECOND)
    return np.sort(rng.integers(begin, end, count))


def services(tenant: Tenant, count: int, rng: np.random.Generator) -> Ints:
    """CPU time of each request, ns, int64[n], at least 1."""
    mean = tenant.service_ns
    if tenant.distribution == "exponential":
        drawn = rng.exponential(mean, count)
    elif tenant.distribution == "lognormal":
        drawn = rng.lognormal(np.log(mean) - SPREAD**2 / 2, SPREAD, count)
    else:
        return np.full(count, mean, np.int64)
    return np.maximum(np.rint(drawn), 1).astype(np.int64)


@dataclass(frozen=True)
class Settled:
    """Completion of requests; arrays are over all that arrived, in their order. Moments are ns, -1: not within the simulation."""

    begun: Ints
    done: Ints
    dropped: Mask


def settle(arrived: Ints, service: Ints, runs: Ints, queue: int | None) -> Settled:
    """Serves requests first come, first served, in the stretches `runs` (int64[k, 2], ns, ascending) of a tenant.

    On the axis of the CPU time that the tenant got, a request begins when it has arrived and the one before it is done: Lindley's
    recursion, which is a running maximum. So no request is an event, under any policy.
    """
    lengths = runs[:, 1] - runs[:, 0]
    got = np.concatenate([[0], np.cumsum(lengths)])
    came = _cpu_at(arrived, runs, got)
    end, kept = _unbounded(came, service), np.ones(len(arrived), bool)
    if queue is not None and _most_waiting(came, end) > queue:
        end, kept = _bounded(came, service, queue)
    begin = np.where(kept, end - service, -1)
    return Settled(_moment(begin, runs, got, False), _moment(np.where(kept, end, -1), runs, got, True), ~kept)


def _cpu_at(moments: Ints, runs: Ints, got: Ints) -> Ints:
    """CPU time that the tenant had got by each moment."""
    if not len(runs):
        return np.zeros(len(moments), np.int64)
    at = np.searchsorted(runs[:, 0], moments, side="right") - 1
    inside = np.minimum(moments, runs[at, 1]) - runs[at, 0]
    return np.where(at < 0, 0, got[np.maximum(at, 0)] + inside)


def _unbounded(came: Ints, service: Ints) -> Ints:
    total = np.cumsum(service)
    return total + np.maximum.accumulate(came - (total - service)) if len(came) else total


def _most_waiting(came: Ints, end: Ints) -> int:
    """The largest number of requests that are in the tenant when one arrives, itself included."""
    if not len(came):
        return 0
    return int(np.max(np.arange(1, len(came) + 1) - np.searchsorted(end, came, side="right")))


def _bounded(came: Ints, service: Ints, queue: int) -> tuple[Ints, Mask]:
    end, kept = np.full(len(came), -1, np.int64), np.zeros(len(came), bool)
    inside: deque[int] = deque()
    for i, (at, cost) in enumerate(zip(came.tolist(), service.tolist(), strict=True)):
        while inside and inside[0] <= at:
            inside.popleft()
        if len(inside) < queue:
            inside.append(max(at, inside[-1] if inside else 0) + cost)
            end[i], kept[i] = inside[-1], True
    return end, kept


def _moment(cpu: Ints, runs: Ints, got: Ints, ends: bool) -> Ints:
    """When the tenant had got this CPU time; -1: never. A request that ends with a stretch ends there, one that begins there begins
    with the next stretch."""
    at = np.searchsorted(got, cpu, side="left" if ends else "right") - 1
    there = (cpu >= 0) & (at >= 0) & (at < len(runs))
    at = np.where(there, at, 0)
    if not len(runs):
        return np.full(len(cpu), -1, np.int64)
    return np.where(there, runs[at, 0] + cpu - got[at], -1)


@dataclass
class Work:
    """Requests in the order of arrival, ns; `next` is the first that is not done, `rest` what it still needs (None: all of it)."""

    arrived: list[int]
    service: list[int]
    next: int = 0
    rest: int | None = None

    def until_empty(self, begin: int) -> int:
        """When the queue is empty if the tenant runs from `begin` on without a break."""
        now, n, rest = begin, self.next, self.rest
        while n < len(self.arrived) and self.arrived[n] <= now:
            now += self.service[n] if rest is None else rest
            n, rest = n + 1, None
        return now

    def serve(self, begin: int, end: int) -> None:
        """The tenant ran from `begin` to `end`."""
        now = begin
        while self.next < len(self.arrived) and self.arrived[self.next] <= now < end:
            need = self.service[self.next] if self.rest is None else self.rest
            if now + need > end:
                self.rest = need - (end - now)
                return
            now += need
            self.next, self.rest = self.next + 1, None
