"""Results of a simulation, by tenant and of the cores. Everything is simulated, nothing measured."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from windtunnel_sharing.simulate.engine import Simulation
from windtunnel_sharing.simulate.load import Ints, Mask, Settled, settle
from windtunnel_sharing.simulate.plan import SECOND, Plan, Tenant

PERCENTILES = {"p50": 50.0, "p99": 99.0, "p999": 99.9}


@dataclass(frozen=True)
class TenantOutcome:
    """Of one tenant. Arrays are over its requests in the order of arrival, ns; -1: not within the simulation."""

    tenant: Tenant
    arrived: Ints
    settled: Settled
    runs: list[Ints]
    """Of each thread: int64[k, 2], begin and end of the stretches that served."""
    cpu_ns: int
    """On a core, with refills, without switches."""
    useful_ns: int
    turns: int
    slice_p50_ns: float | None
    gap_p99_ns: float | None

    def chosen(self, from_ns: int) -> Mask:
        """Requests that latencies count: those that arrived from then on and were done."""
        mask: Mask = (self.arrived >= from_ns) & (self.settled.done >= 0)
        return mask

    def latency_ns(self, from_ns: int) -> Ints:
        """From arrival to the end of the service."""
        chosen = self.chosen(from_ns)
        ns: Ints = self.settled.done[chosen] - self.arrived[chosen]
        return ns

    def wait_ns(self, from_ns: int) -> Ints:
        """From arrival to the beginning of the service."""
        chosen = self.chosen(from_ns)
        ns: Ints = self.settled.begun[chosen] - self.arrived[chosen]
        return ns


@dataclass(frozen=True)
class CoreTimes:
    """ns of all cores together; they add up to cores x duration."""

    useful: int
    refilled: int
    switching: int
    steal: int
    idle: int


@dataclass(frozen=True)
class Outcome:
    """Of one plan."""

    plan: Plan
    tenants: list[TenantOutcome]
    cores: CoreTimes

    def latency_ns(self) -> Ints:
        """Of all tenants' requests after the warm-up."""
        return np.concatenate([one.latency_ns(self.plan.warmup_ns) for one in self.tenants])

    def document(self) -> dict[str, Any]:
        """As JSON. Shares are of the CPU time of all tenants; times ns, rates requests per second."""
        got = sum(one.cpu_ns for one in self.tenants) or 1
        weights = sum(one.tenant.weight * one.tenant.threads for one in self.tenants)
        return {
            "simulated": True,
            "policy": self.plan.policy,
            "slice_ns": self.plan.slice_ns,
            "cores": self.plan.machine.cores,
            "duration_ns": self.plan.duration_ns,
            "seed": self.plan.seed,
            "tenants": [self._row(one, got, weights) for one in self.tenants],
            "all": percentiles(self.latency_ns()) | self._rates(self.tenants),
            "phases": [self._phase(begin, end) for begin, end in self._phases()],
            "core_time": {name: value / self._core_ns() for name, value in vars(self.cores).items()},
        }

    def _phases(self) -> list[tuple[int, int]]:
        """From one moment at which a rate or a weight changes to the next."""
        marks = {0} | {phase.from_ns for one in self.plan.tenants for phase in one.phases}
        marks |= {change.at_ns for change in self.plan.changes}
        inside = sorted(mark for mark in marks if mark < self.plan.duration_ns)
        return list(pairwise([*inside, self.plan.duration_ns]))

    def _phase(self, begin: int, end: int) -> dict[str, Any]:
        """Latencies are of the requests that arrived in the phase, served are those that were done in it."""
        served, latencies, batch = 0, [], 0
        for one in self.tenants:
            done = one.settled.done
            served += int(((done >= begin) & (done < end)).sum())
            chosen = (one.arrived >= begin) & (one.arrived < end) & (done >= 0)
            latencies.append(done[chosen] - one.arrived[chosen])
            batch += 0 if one.tenant.phases else sum(ran_between(runs, begin, end) for runs in one.runs)
        return {
            "from_ns": begin,
            "to_ns": end,
            "served_per_s": served * SECOND / (end - begin),
            "batch_cpus": batch / (end - begin),
            **percentiles(np.concatenate(latencies)),
        }

    def _core_ns(self) -> int:
        return self.plan.duration_ns * self.plan.machine.cores

    def _row(self, one: TenantOutcome, got: int, weights: int) -> dict[str, Any]:
        wait = percentiles(one.wait_ns(self.plan.warmup_ns))
        return {
            "name": one.tenant.name,
            "weight": one.tenant.weight,
            "share": one.cpu_ns / got,
            "entitled": one.tenant.weight * one.tenant.threads / weights,
            "cpus": one.cpu_ns / self.plan.duration_ns,
            "useful_cpus": one.useful_ns / self.plan.duration_ns,
            "turns": one.turns,
            "slice_p50_ns": one.slice_p50_ns,
            "gap_p99_ns": one.gap_p99_ns,
            **percentiles(one.latency_ns(self.plan.warmup_ns)),
            "wait_p99": wait["p99"],
            **self._rates([one]),
        }

    def _rates(self, tenants: Iterable[TenantOutcome]) -> dict[str, Any]:
        settled = [one.settled for one in tenants]
        arrived = sum(len(s.done) for s in settled)
        served = sum(int((s.done >= 0).sum()) for s in settled)
        dropped = sum(int(s.dropped.sum()) for s in settled)
        return {
            "arrived": arrived,
            "served": served,
            "dropped": dropped,
            "waiting": arrived - served - dropped,
            "served_per_s": served * SECOND / self.plan.duration_ns,
        }


def percentiles(ns: Ints) -> dict[str, float | None]:
    """None where there is no request."""
    if not len(ns):
        return dict.fromkeys(PERCENTILES)
    return dict(zip(PERCENTILES, map(float, np.percentile(ns, list(PERCENTILES.values()))), strict=True))


def ran_between(runs: Ints, begin: int, end: int) -> int:
    """ns of the stretches that lie within."""
    return int(np.maximum(np.minimum(runs[:, 1], end) - np.maximum(runs[:, 0], begin), 0).sum())


def simulate(plan: Plan) -> Outcome:
    """Deterministic by the plan's seed. Raises UserError for a policy that does not exist."""
    simulation = Simulation(plan)
    simulation.run()
    cores = simulation.cores
    return Outcome(
        plan,
        [_tenant(simulation, number, tenant) for number, tenant in enumerate(plan.tenants)],
        CoreTimes(*(sum(getattr(core, name) for core in cores) for name in CoreTimes.__dataclass_fields__)),
    )


def _tenant(simulation: Simulation, number: int, tenant: Tenant) -> TenantOutcome:
    ran = [simulation.ran[n] for n, owner in enumerate(simulation.owner) if owner == number]
    runs = [np.array(one.runs, np.int64).reshape(-1, 2) for one in ran]
    queue = tenant.queue if tenant.polls else None
    gaps = np.concatenate([one[1:, 0] - one[:-1, 1] for one in runs])
    lengths = np.concatenate([one[:, 1] - one[:, 0] for one in runs])
    return TenantOutcome(
        tenant,
        simulation.arrived[number],
        settle(simulation.arrived[number], simulation.service[number], runs[0], queue),
        runs,
        sum(one.charged for one in ran),
        int(lengths.sum()),
        sum(one.turns for one in ran),
        float(np.median(lengths)) if len(lengths) else None,
        float(np.percentile(gaps, 99)) if len(gaps) else None,
    )
