"""A core that a slicer shares during one trial, shielded from neighbours, with the slicer's readings."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from windtunnel.api.errors import UserError
from windtunnel.api.histograms import percentile
from windtunnel_sharing.changed_threads import Journal
from windtunnel_sharing.pools import cgroups
from windtunnel_sharing.pools.apply import Carrier
from windtunnel_sharing.pools.plan import Arrangement
from windtunnel_sharing.pools.shared_cores import shared_cores, shielding
from windtunnel_sharing.pools.weights import CPU_WEIGHT
from windtunnel_sharing.slicers import SLICERS, SliceReading
from windtunnel_sharing.threads import threads_of


def check_slicer(name: str, cpu: int) -> None:
    """Raises UserError for an unknown slicer, or one that cannot work on this host."""
    if name not in SLICERS:
        raise UserError(f'no slicer "{name}"', remedy=f"one of {', '.join(SLICERS)}")
    why = SLICERS[name].missing(cpu)
    if why is not None:
        raise UserError(f"{name}: {why}", remedy="windtunnel share probe shows the slicers that work on this host")


def shield_words() -> str:
    """For the page."""
    found = cgroups.find()
    return (
        f"none: {found.why}" if isinstance(found, cgroups.Nowhere) else f"cgroup v{found.version}, the greatest weight"
    )


@contextmanager
def sharing(
    journal: Journal, name: str, cpus: Sequence[int], slice_ns: int, tids: Sequence[int] = ()
) -> Iterator[Carrier]:
    """Cores shared as the daemon shares them: threads of equal weight on the first CPU. The softirq threads of all these CPUs go before
    tenants. At the end each thread is restored."""
    kind = SLICERS[name]
    with shielding(True, kind.raises) as around, shared_cores(journal, kind, cpus, slice_ns, around.shield) as carrier:
        if tids:
            carrier.carry(Arrangement({cpus[0]: dict.fromkeys(tids, CPU_WEIGHT)}, groups=_groups(tids)), {})
        yield carrier


@contextmanager
def shielded(journal: Journal, affinities: Mapping[int, tuple[int, ...]]) -> Iterator[None]:
    """Threads on given CPUs, scheduled by the kernel, shielded from neighbours."""
    with shielding(True, raises=False) as around:
        try:
            for tid, cpus in affinities.items():
                journal.change(tid, affinity=cpus)
            if around.shield is not None:
                around.shield.enters_through(journal)
                around.shield.hold(_groups(affinities), {})
            yield
        finally:
            journal.put_back_all()


@contextmanager
def first_of_all() -> Iterator[None]:
    """Runs the threads of this process before tenants, where that is permitted. Otherwise they wait for tenants that have every core and a
    shield, and the tenants' pipes fill up. Nice values do not help inside an autogroup."""
    before = {tid: (os.sched_getscheduler(tid), os.sched_getparam(tid)) for tid in threads_of(os.getpid())}
    with suppress(PermissionError):
        for tid in before:
            os.sched_setscheduler(tid, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    try:
        yield
    finally:
        for tid, (policy, parameter) in before.items():
            with suppress(PermissionError, ProcessLookupError):
                os.sched_setscheduler(tid, policy, parameter)


def of_slicers(carrier: Carrier) -> list[int]:
    """Threads of the slicers: their time is part of the cost of slices, not a neighbour's."""
    pids = [slicer.pid for slicer in carrier.slicers.values()]
    return [tid for pid in pids for tid in threads_of(pid)]


def slices(reading: SliceReading) -> tuple[int | None, int | None]:
    """p50 and p99 of the slices in ns; None where they were not measured one by one."""
    return percentile(reading.slice, 50), percentile(reading.slice, 99)


def _groups(tids: Iterable[int]) -> dict[int, str]:
    return {tid: f"t{n}" for n, tid in enumerate(tids)}
