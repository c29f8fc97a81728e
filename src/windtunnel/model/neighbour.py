"""What a stranger on the same physical core does to costs, taken out.

On a shared machine a run's costs rise and fall together, by tens of percent, because another hardware thread has a part of the
core. Each worker measures that between its loops: the ticks of additions that fill a core (`wide_ticks`) know nothing of tables,
and rise with it. So a cost is brought to one value of these ticks, the study's median, by an exponent that comes from runs of the
same size alone: what a size costs has no part in it (analysis of covariance).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from windtunnel.model.record import Neighbour

LEAST_RUNS = 8
LEAST_CORRELATION = 0.5
"""Below it the ticks explain less than a quarter of the scatter: nothing is taken out."""
MOST = 1.5
"""Of the exponent; 1 is a cost that rises as the ticks do."""


@dataclass(frozen=True)
class CostedRun:
    """One run: its cost, its ticks, and what it shares with its repeats."""

    point: int
    ns: float
    ticks: float | None


def neighbour_of(runs: Sequence[CostedRun]) -> Neighbour | None:
    """None where some run has no ticks, where they are too few, or where costs do not follow them."""
    if any(not run.ticks for run in runs):
        return None
    points = np.array([run.point for run in runs])
    costs, ticks = (np.log([getattr(run, name) for run in runs]) for name in ("ns", "ticks"))
    freedom = len(runs) - len(set(points))
    if len(runs) < LEAST_RUNS or freedom < LEAST_RUNS // 2:
        return None
    apart, moved = _within(costs, points), _within(ticks, points)
    together, squares = float(moved @ apart), float(moved @ moved)
    if squares == 0 or together < LEAST_CORRELATION * np.sqrt(squares * float(apart @ apart)):
        return None
    return Neighbour(exponent=min(together / squares, MOST), ticks=float(np.exp(np.median(ticks))))


def without(ns: float, ticks: float | None, neighbour: Neighbour | None) -> float:
    """The cost at the model's ticks; as it is where nothing is taken out, or a run has no ticks."""
    if neighbour is None or not ticks:
        return ns
    return ns * (neighbour.ticks / ticks) ** neighbour.exponent


def _within(values: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Distances from the mean of the same point."""
    apart = values.copy()
    for point in _distinct(points):
        apart[points == point] -= values[points == point].mean()
    return apart


def _distinct(points: np.ndarray) -> Iterable[int]:
    return dict.fromkeys(points.tolist())
