"""A core shared by a slicer for the time of one trial, shielded from neighbours, and what the slicer saw of it."""

import os
from collections.abc import Iterator, Mapping, Sequence
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
from windtunnel.sharing.tenants.find_threads import threads


def check_slicer(name: str, cpu: int) -> None:
    """Raises UserError where it is none, or cannot work on this host."""
    if name not in SLICERS:
        raise UserError(f'no slicer "{name}"', remedy=f"one of {', '.join(SLICERS)}")
    why = SLICERS[name].missing(cpu)
    if why is not None:
        raise UserError(f"{name}: {why}", remedy="windtunnel share probe says what works here")


@contextmanager
def shield() -> Iterator[Shield | None]:
    """A group that keeps neighbours off the tenants; null where the host has no cgroups to be had. Gone at the end, when all have left it."""
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
    """Threads of equal weight take turns on a core; at the end each is as it was."""
    with shield() as around, closing(Carrier(journal, SLICERS[name], slice_ns, around)) as carrier:
        carrier.carry(Arrangement({cpu: dict.fromkeys(tids, CPU_WEIGHT)}, groups=_groups(tids)), {})
        yield carrier


@contextmanager
def shielded(journal: Journal, affinities: Mapping[int, tuple[int, ...]]) -> Iterator[None]:
    """Threads on CPUs that are said, as the kernel shares those out among them, kept from neighbours."""
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
    """The threads of this process before tenants, where that is permitted: who moves tenants that have every core and a shield waits behind
    them otherwise, and so does who reads what they write, until pipes are full. Nice values do not help inside an autogroup."""
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
    """(pid, tid) of the slicers: their time is a price of the slices, and no neighbour's."""
    pids = [slicer.pid for slicer in carrier.slicers.values()]
    return [(pid, tid) for pid in pids for tid in threads(pid)]


def slices(figures: SliceReading) -> tuple[int | None, int | None]:
    """p50 and p99 of the slices in ns; null where they were not seen one by one."""
    return percentile(figures.slice, 50), percentile(figures.slice, 99)


def _groups(tids) -> dict[int, str]:
    return {tid: f"t{n}" for n, tid in enumerate(tids)}
