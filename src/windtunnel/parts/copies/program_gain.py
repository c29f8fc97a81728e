"""From which size on a copier would pay for the copies of a program, by what copies cost in the program and what the copier costs on this host."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from windtunnel.parts.copies.costs import SIZES, Measured
from windtunnel.parts.copies.program_copies import SizeCounts, ns_of
from windtunnel.parts.copies.program_page import GROUPS
from windtunnel.parts.copies.query import CopyCosts

LEAST_COMPARED = 2 * GROUPS
"""Timed copies of a size that is compared, if not all of its copies were timed: a few may all have met page faults."""


@dataclass(frozen=True)
class Gain:
    """What a copier would bring if it made all copies from a size on."""

    from_bytes: int | None
    """None: it brings nothing at any size."""
    freed_ns: float
    """CPU time of the program's threads, over the whole run."""


@dataclass(frozen=True)
class SizeCost:
    """CPU time of a copy of one size, in ns."""

    size: SizeCounts
    program: float
    """As the program makes it."""
    program_least: float
    """The lower end of its interval: a copier that costs less than this is shown to pay."""
    caller: float
    """Of the thread that has the copier make it: the submit, and the poll that finds the end."""
    whole: float
    """From its submit until its end was found; of a loop, which copies in its submit, as `caller`."""


@dataclass(frozen=True)
class CopierGain:
    """What a copier costs for the sizes of a program, and what it would bring."""

    measured: Measured
    costs: tuple[SizeCost, ...]

    @property
    def waiting(self) -> Gain:
        """If the thread waits for each copy, as a program does that was not changed."""
        return _gain([(cost, cost.whole) for cost in self.costs])

    @property
    def working(self) -> Gain:
        """If the thread works on meanwhile, which takes a change of the program."""
        return _gain([(cost, cost.caller) for cost in self.costs])


def gain_of(sizes: Sequence[SizeCounts], measured: Measured) -> CopierGain:
    """`measured`: with a depth of 1, so that its rate is that of one copy after the other; with data out of the caches. Sizes below the least
    measured one, and those of which fewer than LEAST_COMPARED copies were timed, are left out."""
    costs, tick_ns = [cost for cost in measured.costs if not cost.hot], 1e9 / measured.copier.tsc_hz
    whole = "caller_cycles" if measured.is_loop else "copier_cycles"
    return CopierGain(
        measured,
        tuple(
            SizeCost(
                size,
                ns.mean / size.copies,
                ns.low / size.copies,
                _at(costs, "caller_cycles", size) * tick_ns,
                _at(costs, whole, size) * tick_ns,
            )
            for size in sizes
            if size.least_bytes >= SIZES[0] and (size.all_timed or size.timed_copies >= LEAST_COMPARED)
            if (ns := ns_of([size])) is not None and ns.low is not None
        ),
    )


def _gain(costs: Sequence[tuple[SizeCost, float]]) -> Gain:
    """By what each size costs with the copier: from the least size on from which every larger one is shown to cost less."""
    from_bytes, freed = None, 0.0
    for cost, by_copier in reversed(costs):
        if by_copier >= cost.program_least:
            break
        from_bytes, freed = cost.size.least_bytes, freed + (cost.program - by_copier) * cost.size.copies
    return Gain(from_bytes, freed)


def _at(costs: Sequence[CopyCosts], field: str, size: SizeCounts) -> float:
    """TSC ticks at the mean size, on straight lines between the measured sizes; beyond the largest one on the line through the last two, which never
    falls."""
    at = [cost.bytes for cost in costs]
    ticks = [getattr(cost, field) for cost in costs]
    beyond = max(0.0, size.mean_bytes - at[-1])
    slope = max(0.0, (ticks[-1] - ticks[-2]) / (at[-1] - at[-2])) if len(at) > 1 else 0.0
    return float(np.interp(size.mean_bytes, at, ticks)) + slope * beyond
