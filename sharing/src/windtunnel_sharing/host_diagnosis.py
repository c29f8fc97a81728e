"""Diagnosis of a shared core on this host: the readings of a slicer and its tenants, with the host's tick and L2."""

import time
from collections.abc import Sequence
from functools import cache

from windtunnel.api.errors import Finding
from windtunnel.api.host import reported
from windtunnel_sharing import tenant
from windtunnel_sharing.diagnose import Host, SharedTenant, diagnose, of_reading
from windtunnel_sharing.slicers import SLICERS, SliceReading

_CLOCK_MONOTONIC_COARSE = 6
"""linux/time.h: a clock that goes on at each tick."""


def tick_ns() -> int:
    """Between two ticks of this kernel."""
    return round(time.clock_getres(_CLOCK_MONOTONIC_COARSE) * 1e9)


@cache
def l2_bytes(cpu: int = 0) -> int | None:
    """Of a core; null where the kernel does not tell."""
    return next((cache.bytes for cache in reported(cpu) if cache.level == 2), None)


def findings(
    slicer: str, seen: SliceReading, tenants: Sequence[SharedTenant], switch_ns: int | None = None
) -> list[Finding]:
    """Of one core of `ls` and its tenants."""
    host = Host(tick_ns=tick_ns(), l2_bytes=l2_bytes(seen.cpu), switch_ns=switch_ns)
    return diagnose(of_reading(slicer, seen, list(tenants), host)).findings


def of_polling(
    slicer: str, results: Sequence[tenant.TenantWindow], service_ns: int, working_set: int = 0
) -> list[SharedTenant]:
    """Tenants that measured themselves, each with `service_ns` of CPU time a request."""
    found = []
    for number, one in enumerate(results, 1):
        span = max(one.end_ns - one.begin_ns, 1)
        found.append(
            SharedTenant(
                f"t{number}",
                asks=one.offered * service_ns / span,
                share=one.own_ns / span,
                offered=one.offered,
                served=one.served,
                lost=one.lost,
                working_set=working_set,
                real_time=SLICERS[slicer].raises,
            )
        )
    return found


def of_members(seen: SliceReading, raises: bool, names: dict[int, str] | None = None) -> list[SharedTenant]:
    """Threads of which only the slicer's reading is known. `raises`: it makes them SCHED_FIFO. `names`: thread -> tenant."""
    return [
        SharedTenant(
            (names or {}).get(member.tid, str(member.tid)),
            share=member.ran_ns / max(seen.interval_ns, 1),
            real_time=raises,
        )
        for member in seen.members
    ]
