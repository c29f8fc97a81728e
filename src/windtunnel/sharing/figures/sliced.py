"""A core shared by a slicer for the time of one trial, and what the slicer saw of it."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from windtunnel.errors import UserError
from windtunnel.runs.histogram import percentile
from windtunnel.sharing.places import directory, held
from windtunnel.sharing.slicers import SLICERS, Member, SliceFigures, Slicer

DEFAULT = "kicker"
"""What holds where nothing better does; `windtunnel share probe` measures the others."""


def check_slicer(name: str, cpu: int) -> None:
    """Raises UserError where it is none, or cannot work on this host."""
    if name not in SLICERS:
        raise UserError(f'no slicer "{name}"', remedy=f"one of {', '.join(SLICERS)}")
    why = SLICERS[name].missing(cpu)
    if why is not None:
        raise UserError(f"{name}: {why}", remedy="windtunnel share probe says what works here")


@contextmanager
def sharing(name: str, cpu: int, slice_ns: int, tids: Sequence[int]) -> Iterator[Slicer]:
    """Threads of equal weight take turns on a core; at the end each is as it was."""
    journal = directory() / f"figure-{os.getpid()}.places"
    with held(journal) as remembers, SLICERS[name](remembers) as slicer:
        slicer.start(cpu, slice_ns)
        slicer.set_members([Member(tid) for tid in tids])
        yield slicer


def slices(figures: SliceFigures | None) -> tuple[int | None, int | None]:
    """p50 and p99 of the slices in ns; null where they were not seen one by one, or there was one tenant."""
    of = figures.slice if figures else None
    return percentile(of, 50), percentile(of, 99)
