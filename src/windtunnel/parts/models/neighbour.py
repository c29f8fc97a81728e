"""Corrects costs for another hardware thread on the same physical core.

On a shared machine a run's costs rise and fall together, by tens of percent, because another hardware thread uses a part of the
core. Each worker measures that between its loops: the ticks of additions that fill a core (`wide_ticks`) do not depend on tables,
and rise with it. A cost is corrected to one value of these ticks, the study's median, with an exponent that comes only from runs
of the same size, so the size has no part in it (analysis of covariance).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from windtunnel.parts.models.arrays import Floats
from windtunnel.parts.models.model_record import MOST_EXPONENT, Neighbour

LEAST_RUNS = 8
LEAST_CORRELATION = 0.5
"""Below it the ticks explain less than a quarter of the scatter: nothing is corrected."""


@dataclass(frozen=True)
class CostedRun:
    """One run: its cost, its ticks, and what it shares with its repeats."""

    point: int
    ns: float
    ticks: float | None


def neighbour_of(runs: Sequence[CostedRun]) -> Neighbour | None:
    """The correction; None if a run has no ticks, if there are too few runs, or if costs do not follow the ticks."""
    if any(not run.ticks for run in runs):
        return None
    points = np.array([run.point for run in runs])
    costs, ticks = (np.log([getattr(run, name) for run in runs]) for name in ("ns", "ticks"))
    freedom = len(runs) - len(set(points))
    if len(runs) < LEAST_RUNS or freedom < LEAST_RUNS // 2:
        return None
    cost_deviations, tick_deviations = _within(costs, points), _within(ticks, points)
    product, squares = float(tick_deviations @ cost_deviations), float(tick_deviations @ tick_deviations)
    if squares == 0 or product < LEAST_CORRELATION * np.sqrt(squares * float(cost_deviations @ cost_deviations)):
        return None
    return Neighbour(exponent=min(product / squares, MOST_EXPONENT), ticks=float(np.exp(np.median(ticks))))


def corrected(ns: float, ticks: float | None, neighbour: Neighbour | None) -> float:
    """The cost at the model's ticks; unchanged if there is no correction, or a run has no ticks."""
    if neighbour is None or not ticks:
        return ns
    factor: float = (neighbour.ticks / ticks) ** neighbour.exponent
    return ns * factor


def _within(values: Floats, points: Floats) -> Floats:
    """Distances from the mean of the same point."""
    deviations = values.copy()
    for point in _distinct(points):
        deviations[points == point] -= values[points == point].mean()
    return deviations


def _distinct(points: Floats) -> Iterable[int]:
    return dict.fromkeys(points.tolist())
