"""A core that a slicer shares during one trial, shielded from neighbours, with the slicer's readings."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress

from windtunnel.errors import UserError
from windtunnel.runs.histogram import percentile
from windtunnel.sharing.changed_threads import Journal
from windtunnel.sharing.pools import cgroups
from windtunnel.sharing.pools.apply import Carrier
from windtunnel.sharing.pools.plan import Arrangement
from windtunnel.sharing.pools.shield import Shield
from windtunnel.sharing.pools.weights import CPU_WEIGHT
from windtunnel.sharing.slicers import SLICERS, SliceReading
from windtunnel.sharing.slicers.core import CoreSlicer
from windtunnel.sharing.tenants.find_threads import threads


def check_slicer(name: str, cpu: int) -> None:
    """Raises UserError for an unknown slicer, or one that cannot work on this host."""
    if name not in SLICERS:
        raise UserError(f'no slicer "{name}"', remedy=f"one of {', '.join(SLICERS)}")
    why = SLICERS[name].missing(cpu)
    if why is not None:
        raise UserError(f"{name}: {why}", remedy="windtunnel share probe shows the slicers that work on this host")


@contextmanager
def shield() -> Iterator[Shield | None]:
    """A cgroup that keeps other processes from the tenants' time; None where the host offers no cgroups. Removed at the end."""
    found = cgroups.find()
    if isinstance(found, cgroups.Nowhere):
        yield None
        return
    made = Shield(found, f"figure-{os.getpid()}")
    with made.swept():
        yield made


def shield_words() -> str:
    """For the page."""
    found = cgroups.find()
    return (
        f"none: {found.why}" if isinstance(found, cgroups.Nowhere) else f"cgroup v{found.version}, the greatest weight"
    )


@contextmanager
def sharing(journal: Journal, name: str, cpu: int, slice_ns: int, tids: Sequence[int]) -> Iterator[Carrier]:
    """Threads of equal weight share a core; at the end each is restored."""
    with shield() as around, closing(Carrier(journal, SLICERS[name], slice_ns, around)) as carrier:
        carrier.carry(Arrangement({cpu: dict.fromkeys(tids, CPU_WEIGHT)}, groups=_groups(tids)), {})
        yield carrier


@contextmanager
def shielded(journal: Journal, affinities: Mapping[int, tuple[int, ...]]) -> Iterator[None]:
    """Threads on given CPUs, scheduled by the kernel, shielded from neighbours."""
    with shield() as around:
        try:
            for tid, cpus in affinities.items():
                journal.change(tid, affinity=cpus)
            if around is not None:
                around.enters_through(journal)
                around.hold(_groups(affinities), {})
            yield
        finally:
            journal.put_back_all()


@contextmanager
def first_of_all() -> Iterator[None]:
    """Runs the threads of this process before tenants, where that is permitted. Otherwise they wait for tenants that have every core and a
    shield, and the tenants' pipes fill up. Nice values do not help inside an autogroup."""
    before = {tid: (os.sched_getscheduler(tid), os.sched_getparam(tid)) for tid in threads(os.getpid())}
    with suppress(PermissionError):
        for tid in before:
            os.sched_setscheduler(tid, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    try:
        yield
    finally:
        for tid, (policy, parameter) in before.items():
            with suppress(PermissionError, ProcessLookupError):
                os.sched_setscheduler(tid, policy, parameter)


def of_slicers(carrier: Carrier) -> list[tuple[int, int]]:
    """(pid, tid) of the slicers: their time is part of the cost of slices, not a neighbour's."""
    pids = [slicer.pid for slicer in carrier.slicers.values() if isinstance(slicer, CoreSlicer)]
    return [(pid, tid) for pid in pids for tid in threads(pid)]


def slices(reading: SliceReading) -> tuple[int | None, int | None]:
    """p50 and p99 of the slices in ns; None where they were not measured one by one."""
    return percentile(reading.slice, 50), percentile(reading.slice, 99)


def _groups(tids: Iterable[int]) -> dict[int, str]:
    return {tid: f"t{n}" for n, tid in enumerate(tids)}
