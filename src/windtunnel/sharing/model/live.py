"""Points measured here: native tenants that poll and measure themselves, on one core, under a slicer."""

import os
from dataclasses import dataclass

from windtunnel.errors import UserError
from windtunnel.runs.histogram import percentile
from windtunnel.sharing import trial
from windtunnel.sharing.diagnose import own_share
from windtunnel.sharing.model.points import Point
from windtunnel.sharing.places import directory, held
from windtunnel.sharing.simulate.plan import SECOND
from windtunnel.sharing.slicers import SLICERS
from windtunnel.sharing.trial import Load, Trial

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
class Flown:
    """A trial and its point."""

    point: Point
    trial: Trial


def fly(setting: Setting, cpu: int, seed: int = 1) -> Flown:
    """One trial. Raises UserError where a tenant or the slicer cannot start, or ends."""
    if setting.slicer not in SLICERS:
        raise UserError(f"there is no slicer {setting.slicer!r}", remedy=f"one of {', '.join(SLICERS)}")
    touched = min(setting.working_set, TOUCHED)
    load = Load(setting.tenants, setting.rate, setting.service_ns, setting.working_set, touched)
    with held(directory() / f"model-{os.getpid()}.places") as journal:
        flown = trial.fly(journal, setting.slicer, cpu, setting.slice_ns, load, setting.seconds, seed=seed)
    return Flown(_point(setting, flown), flown)


def _point(setting: Setting, flown: Trial) -> Point:
    span = sum(one.end_ns - one.begin_ns for one in flown.tenants) / SECOND
    return Point(
        slicer=setting.slicer,
        tenants=setting.tenants,
        slice_ns=setting.slice_ns,
        service_ns=setting.service_ns,
        working_set=setting.working_set,
        rate=setting.rate,
        served=flown.served / span,
        p99_ns=percentile(flown.latency, 99),
        own_share=own_share(flown.slicer),
    )


def grid(slicer: str, seconds: float = 1.0, service_ns: int = 2500) -> list[Setting]:
    """Settings that a model can be fitted to: quiet, half full, nearly full, and overloaded; a tenant alone has no slices."""
    return [
        Setting(slicer, tenants, slice_us * 1000, load * SECOND / (tenants * service_ns), service_ns, 0, seconds)
        for tenants in (1, 2, 4, 8)
        for slice_us in ((120,) if tenants == 1 else (50, 120, 300, 1000))
        for load in (0.05, 0.4, 0.7, 1.5)
    ]
