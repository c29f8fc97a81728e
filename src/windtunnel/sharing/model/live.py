"""Points measured here: native tenants that poll and measure themselves, on one core, under a slicer."""

import os
from dataclasses import dataclass

from windtunnel.errors import UserError
from windtunnel.runs.histogram import percentile
from windtunnel.sharing import polling_trial
from windtunnel.sharing.changed_threads import directory, held
from windtunnel.sharing.model.points import Point
from windtunnel.sharing.polling_trial import Load, Trial
from windtunnel.sharing.simulate.plan import SECOND
from windtunnel.sharing.slicers import SLICERS
from windtunnel.sharing.slicers.readings import own_share

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
class Measured:
    """A trial and its point."""

    point: Point
    trial: Trial


def run(setting: Setting, cpu: int, seed: int = 1) -> Measured:
    """One trial. Raises UserError where a tenant or the slicer cannot start, or ends."""
    if setting.slicer not in SLICERS:
        raise UserError(f"there is no slicer {setting.slicer!r}", remedy=f"one of {', '.join(SLICERS)}")
    touched = min(setting.working_set, TOUCHED)
    load = Load(setting.tenants, setting.rate, setting.service_ns, setting.working_set, touched)
    with held(directory() / f"model-{os.getpid()}.journal") as journal:
        finished = polling_trial.run(journal, setting.slicer, cpu, setting.slice_ns, load, setting.seconds, seed=seed)
    return Measured(_point(setting, finished), finished)


def _point(setting: Setting, finished: Trial) -> Point:
    span = sum(one.end_ns - one.begin_ns for one in finished.tenants) / SECOND
    return Point(
        slicer=setting.slicer,
        tenants=setting.tenants,
        slice_ns=setting.slice_ns,
        service_ns=setting.service_ns,
        working_set=setting.working_set,
        rate=setting.rate,
        served=finished.served / span,
        p99_ns=percentile(finished.latency, 99),
        own_share=own_share(finished.slicer),
    )


def grid(slicer: str, seconds: float = 1.0, service_ns: int = 2500) -> list[Setting]:
    """Settings that a model can be fitted to: quiet, half full, nearly full, and overloaded; a tenant alone has no slices."""
    return [
        Setting(slicer, tenants, slice_us * 1000, load * SECOND / (tenants * service_ns), service_ns, 0, seconds)
        for tenants in (1, 2, 4, 8)
        for slice_us in ((120,) if tenants == 1 else (50, 120, 300, 1000))
        for load in (0.05, 0.4, 0.7, 1.5)
    ]
