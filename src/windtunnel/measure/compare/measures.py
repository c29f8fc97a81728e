"""The figures of both sides of a point, with estimates of how far they are apart."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log1p, sqrt

from windtunnel.measure.compare import statistics
from windtunnel.measure.compare.points import pairs
from windtunnel.measure.compare.reading import Figure, Reading, windows
from windtunnel.measure.compare.statistics import LEAST_RUNS, Estimate


@dataclass(frozen=True)
class Held:
    """Valid runs of both sides held against each other, and how."""

    a: list[Reading]
    b: list[Reading]
    in_turn: bool
    """a[i] and b[i] are a pair."""
    alone: list[Reading]
    """Valid runs that are in no pair where the others are."""
    between: float
    """Assumed spread from run to run, as a share."""

    @cached_property
    def _windows(self) -> dict[int, list[dict[Figure, float | None]]]:
        return {id(reading): windows(reading.path) for reading in (*self.a, *self.b)}

    @property
    def method(self) -> str:
        if min(len(self.a), len(self.b)) < LEAST_RUNS:
            return "assumed"
        return "paired" if self.in_turn else "unpaired"

    def figures(self) -> list[Figure]:
        """Those that any run of both sides has, in A's order."""
        theirs = {figure for reading in self.b for figure in reading.figures}
        return [figure for figure in dict.fromkeys(f for r in self.a for f in r.figures) if figure in theirs]

    def within(self, figure: Figure) -> float:
        """Standard error of the difference that the windows inside the runs account for."""
        squares = 0.0
        for side in (self.a, self.b):
            for reading in side:
                seen = [value for window in self._windows[id(reading)] if (value := window.get(figure))]
                squares += (statistics.windows_error(seen) / len(side)) ** 2 if seen else 0.0
        return sqrt(squares)


def hold(a: Sequence[Reading], b: Sequence[Reading], between: float) -> Held:
    """Pairs where the runs were flown in turn, else all of both sides. An invalid run is left out, and its partner with it."""
    valid = [[reading for reading in side if not reading.reasons] for side in (a, b)]
    together = [pair for pair in pairs(a, b) if not pair[0].reasons and not pair[1].reasons]
    if not together:
        return Held(*valid, in_turn=False, alone=[], between=between)
    ours, theirs = ([pair[side] for pair in together] for side in (0, 1))
    paired = {id(reading) for reading in (*ours, *theirs)}
    return Held(ours, theirs, True, [r for side in valid for r in side if id(r) not in paired], between)


def estimate(held: Held, figure: Figure) -> tuple[Estimate | None, str | None]:
    """How far B's figure is from A's, or why that cannot be said."""
    a, b = ([reading.figures.get(figure) for reading in side] for side in (held.a, held.b))
    if held.in_turn:
        whole = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
        a, b = [x for x, _ in whole], [y for _, y in whole]
    else:
        a, b = ([value for value in side if value is not None] for side in (a, b))
    missing = len(held.a) - len(a) + len(held.b) - len(b)
    if not a or not b:
        return None, "not measured in A" if not a else "not measured in B"
    if not any((*a, *b)):
        return None, "0 on both sides"
    if min(*a, *b) <= 0:
        return None, "0 in some runs: no ratio"
    if held.method == "assumed":
        return statistics.assumed(a, b, log1p(held.between), held.within(figure)), None
    if min(len(a), len(b)) < LEAST_RUNS:
        return None, f"not measured in {missing} runs"
    of: Callable[..., Estimate] = statistics.paired if held.in_turn else statistics.unpaired
    return of(a, b), None
