"""Points measured here: native tenants that poll and measure themselves, on one core, under a slicer."""

import os
import time
from contextlib import ExitStack
from dataclasses import dataclass

from windtunnel.errors import UserError
from windtunnel.runs.histogram import merge, percentile
from windtunnel.sharing.diagnose import own_share
from windtunnel.sharing.model.points import Point
from windtunnel.sharing.places import directory, held
from windtunnel.sharing.simulate.plan import SECOND
from windtunnel.sharing.slicers import SLICERS, Member, SliceFigures
from windtunnel.sharing.tenant import Phase, Tenant, TenantFigures, TenantPlan

LEAD_NS, LEAD_EACH_NS = 250_000_000, 10_000_000
"""To the first arrival: by then all tenants have started and are members."""
WARMUP_NS = 150_000_000
QUEUE = 1 << 16
"""Requests that may wait: what is lost in a short trial says nothing of p99."""
TOUCHED = 4096
"""Bytes of its working set that a request touches."""


@dataclass(frozen=True)
class Setting:
    """Tenants alike on one core. `rate`: requests a second of each."""

    slicer: str
    tenants: int
    slice_ns: int
    rate: float
    service_ns: int = 2500
    working_set: int = 0
    seconds: float = 1.0


@dataclass(frozen=True)
class Seen:
    """What the slicer saw from outside, and what each tenant saw itself."""

    slicer: SliceFigures
    tenants: list[TenantFigures]


@dataclass(frozen=True)
class Flown:
    """A trial and its point."""

    point: Point
    trial: Seen


def fly(setting: Setting, cpu: int, seed: int = 1) -> Flown:
    """One trial. Raises UserError where a tenant or the slicer cannot start, or ends."""
    if setting.slicer not in SLICERS:
        raise UserError(f"there is no slicer {setting.slicer!r}", remedy=f"one of {', '.join(SLICERS)}")
    start, duration = time.monotonic_ns() + LEAD_NS + setting.tenants * LEAD_EACH_NS, int(setting.seconds * SECOND)
    with ExitStack() as stack:
        journal = stack.enter_context(held(directory() / f"model-{os.getpid()}.places"))
        slicer = stack.enter_context(SLICERS[setting.slicer](journal))
        slicer.start(cpu, setting.slice_ns)
        plans = [_plan(setting, cpu, start, duration, 1000 * seed + number) for number in range(setting.tenants)]
        tenants = [stack.enter_context(Tenant(plan)) for plan in plans]
        slicer.set_members([Member(tenant.tid) for tenant in tenants])
        _sleep_until(start + WARMUP_NS)
        slicer.read()
        _sleep_until(start + WARMUP_NS + duration)
        figures = slicer.read()
        return _flown(setting, Seen(figures, [tenant.result()[1] for tenant in tenants]))


def _plan(setting: Setting, cpu: int, start: int, duration: int, seed: int) -> TenantPlan:
    return TenantPlan(
        phases=[Phase(rate=setting.rate)],
        seed=seed,
        service_ns=setting.service_ns,
        working_set_bytes=setting.working_set,
        touched_bytes=min(setting.working_set, TOUCHED),
        queue=QUEUE,
        start_ns=start,
        warmup_ns=WARMUP_NS,
        duration_ns=duration,
        window_ns=duration,
        cpu=cpu,
    )


def _sleep_until(moment_ns: int) -> None:
    time.sleep(max(moment_ns - time.monotonic_ns(), 0) / SECOND)


def _flown(setting: Setting, trial: Seen) -> Flown:
    span = sum(one.end_ns - one.begin_ns for one in trial.tenants) / SECOND
    point = Point(
        slicer=setting.slicer,
        tenants=setting.tenants,
        slice_ns=setting.slice_ns,
        service_ns=setting.service_ns,
        working_set=setting.working_set,
        rate=setting.rate,
        served=sum(one.served for one in trial.tenants) / span,
        p99_ns=percentile(merge(one.latency for one in trial.tenants), 99),
        own_share=own_share(trial.slicer),
    )
    return Flown(point, trial)


def grid(slicer: str, seconds: float = 1.0, service_ns: int = 2500) -> list[Setting]:
    """Settings that a model can be fitted to: quiet, half full, nearly full, and overloaded; a tenant alone has no slices."""
    return [
        Setting(slicer, tenants, slice_us * 1000, load * SECOND / (tenants * service_ns), service_ns, 0, seconds)
        for tenants in (1, 2, 4, 8)
        for slice_us in ((120,) if tenants == 1 else (50, 120, 300, 1000))
        for load in (0.05, 0.4, 0.7, 1.5)
    ]
