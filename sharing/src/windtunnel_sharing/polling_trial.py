"""One trial: polling tenants on one core under one slicer, for some seconds, on a core that is shared as the daemon shares it."""

import time
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import repeat

from windtunnel.api.histograms import Histogram, merge, percentile
from windtunnel_sharing.changed_threads import Journal
from windtunnel_sharing.pools.plan import Arrangement
from windtunnel_sharing.pools.shared_cores import shared_cores, shielding
from windtunnel_sharing.slicers import SLICERS, SliceReading
from windtunnel_sharing.slicers.slicer import CPU_WEIGHT
from windtunnel_sharing.tenant import Phase, Tenant, TenantPlan, TenantWindow

BEGIN_AFTER_NS, BEGIN_EACH_NS = 300_000_000, 10_000_000
"""To the first arrival: by then all tenants have started and are members."""
WARMUP_NS = 200_000_000
QUEUE = 1 << 16
"""Requests that may wait: long enough that a short trial loses none."""


@dataclass(frozen=True)
class Load:
    """`rate` requests per second of each tenant, Poisson, of `service_ns` each."""

    tenants: int = 4
    rate: float = 5000
    service_ns: int = 2500
    working_set_bytes: int = 0
    touched_bytes: int = 0


@dataclass(frozen=True)
class Trial:
    """The measurements of a trial: `slicer` from outside, `tenants` by each tenant itself."""

    name: str
    seconds: float
    slicer: SliceReading
    tenants: list[TenantWindow]

    @property
    def latency(self) -> Histogram | None:
        """None: no tenant measured one."""
        return merge([tenant.latency for tenant in self.tenants])

    def latency_us(self, percent: float) -> float | None:
        found = percentile(self.latency, percent)
        return None if found is None else found / 1e3

    def slice_us(self, percent: float) -> float | None:
        """As the slicer measured, else as the tenants did."""
        found = percentile(self.slicer.slice or merge([tenant.slice for tenant in self.tenants]), percent)
        return None if found is None else found / 1e3

    @property
    def served(self) -> int:
        return sum(tenant.served for tenant in self.tenants)

    @property
    def poll_ns(self) -> float:
        """CPU time of one poll, without service."""
        own = sum(tenant.own_ns - tenant.served_ns for tenant in self.tenants)
        return own / sum(tenant.polls for tenant in self.tenants)

    def useful(self, poll_ns: float) -> float:
        """The part of the core's time spent in polls and service, at `poll_ns` a poll (of a tenant alone on the core), without the
        cost of switches, kicks and cold caches."""
        done = sum(tenant.polls * poll_ns + tenant.served_ns for tenant in self.tenants)
        return done / (self.tenants[0].end_ns - self.tenants[0].begin_ns)

    @property
    def loss(self) -> float:
        """The part of the core's time outside the tenants' slices, as they measured them. The kernel's switches say less: what an
        interrupt or an exit to the hypervisor takes is in the slice of the thread that it stops."""
        wall = self.tenants[0].end_ns - self.tenants[0].begin_ns
        return max(0.0, 1 - sum(tenant.slice.sum for tenant in self.tenants) / wall)

    @property
    def off_points(self) -> float:
        """The largest difference between a member's share and its entitlement."""
        offs = [abs((one.share or 0) - one.entitled) for one in self.slicer.members if one.entitled is not None]
        return max(offs, default=0.0)


def run(
    journal: Journal,
    name: str,
    cpu: int,
    slice_ns: int,
    load: Load,
    seconds: float,
    weights: list[int] | None = None,
    seed: int = 1,
    shield: bool = True,
) -> Trial:
    """`seed` draws the arrivals. Raises UserError where the slicer is missing here or something ends too early."""
    kind = SLICERS[name]
    start = time.monotonic_ns() + BEGIN_AFTER_NS + load.tenants * BEGIN_EACH_NS
    duration = int(seconds * 1e9)
    with ExitStack() as stack:
        around = stack.enter_context(shielding(shield, kind.raises))
        carrier = stack.enter_context(shared_cores(journal, kind, (cpu,), slice_ns, around.shield))
        carrier.warm(cpu)
        plans = [_plan(load, cpu, start, duration, 1000 * seed + n) for n in range(load.tenants)]
        tenants = [stack.enter_context(Tenant(plan)) for plan in plans]
        shares = {tenant.tid: weight for tenant, weight in zip(tenants, weights or repeat(CPU_WEIGHT))}
        carrier.carry(Arrangement({cpu: shares}, groups={tid: str(tid) for tid in shares}), {})
        slicer = carrier.slicers[cpu]
        _sleep_until(start + WARMUP_NS)
        slicer.read()
        _sleep_until(start + WARMUP_NS + duration)
        reading = slicer.read()
        return Trial(name, seconds, reading, [tenant.result()[1] for tenant in tenants])


def _plan(load: Load, cpu: int, start: int, duration: int, seed: int) -> TenantPlan:
    return TenantPlan(
        phases=[Phase(rate=load.rate)],
        seed=seed,
        service_ns=load.service_ns,
        working_set_bytes=load.working_set_bytes,
        touched_bytes=load.touched_bytes,
        queue=QUEUE,
        start_ns=start,
        warmup_ns=WARMUP_NS,
        duration_ns=duration,
        window_ns=duration,
        cpu=cpu,
    )


def _sleep_until(moment_ns: int) -> None:
    time.sleep(max(0, moment_ns - time.monotonic_ns()) / 1e9)
