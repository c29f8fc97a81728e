"""Whether the windows of a run are of one level: steps and a trend.

The windows of one run are not independent, because a host is slow for seconds. So the noise is an AR(1) process whose
autocorrelation is estimated with each candidate, and a change counts if its likelihood ratio is beyond what such noise shows by
chance. Only numpy is used: a run asks `course` whether to go on, and an import of scipy's statistics would take a worker's CPU.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from windtunnel.stats.mean import mean_of, whitened

LEAST_WINDOWS = 8
"""Fewest windows: with fewer, noise cannot be told from a change."""
BEYOND_CHANCE = 15.0
"""Twice the logarithm of the likelihood ratio. Series of 8 to 80 windows of AR(1) noise with autocorrelation 0 to 0.9 and a standard
deviation of 10% exceed it, with a change beyond 10%, in at most 5% of the cases (bench/steady_power.py)."""
AUTOCORRELATIONS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95)

Series = NDArray[np.float64]


@dataclass(frozen=True)
class Level:
    """Windows of one level: from `start` on, up to the next level's start."""

    start: int
    mean: float


@dataclass(frozen=True)
class Course:
    """What a series did."""

    levels: list[Level]
    """Levels, at least one; a step stands between two."""
    trend: float
    """Change from the first to the last window of the last level, as a share of its mean; 0: none beyond the limit and chance."""
    half_width: float | None
    """Half the width of the last level's 95% interval, as a share of its mean; None: it has too few windows."""
    windows: int

    @property
    def last(self) -> Level:
        return self.levels[-1]

    @property
    def windows_of_last(self) -> int:
        return self.windows - self.last.start


def course(values: Sequence[float], limit: float) -> Course:
    """Levels and trend of a series of at least LEAST_WINDOWS values. `limit`: the least change that counts, as a share."""
    series = np.asarray(values, dtype=float)
    starts = [0, *_steps(series, 0, limit), len(series)]
    levels = [Level(a, float(series[a:b].mean())) for a, b in pairwise(starts)]
    last = series[levels[-1].start :]
    change = _change(last, limit)
    return Course(levels, change.size if change and change.at is None else 0.0, mean_of(last).half_width, len(series))


@dataclass(frozen=True)
class _Change:
    at: int | None
    """First window of the new level; None: a trend over all of them."""
    size: float
    """Size as a share of the mean."""


def _steps(series: Series, offset: int, limit: float) -> list[int]:
    """First windows of all levels but the first, by binary segmentation."""
    change = _change(series, limit)
    if change is None or change.at is None:
        return []
    before, after = series[: change.at], series[change.at :]
    return [*_steps(before, offset, limit), offset + change.at, *_steps(after, offset + change.at, limit)]


def _change(series: Series, limit: float) -> _Change | None:
    """The likeliest change of a series: a step before some window or a straight trend; None if there is none beyond the limit
    and beyond chance.

    A generalised likelihood ratio under AR(1) noise (M. Robbins et al., "Mean shift testing in correlated data", J. Time Series
    Analysis 32, 2011): each series is made independent by the autocorrelation (Prais-Winsten), then a regression follows.
    """
    count, mean = len(series), float(series.mean())
    if count < LEAST_WINDOWS or mean <= 0 or np.ptp(series) == 0:
        return None
    windows = np.arange(count)
    shapes = np.column_stack([windows[:, None] >= windows[None, 1:], windows / (count - 1)]).astype(float)
    without, with_change = -np.inf, np.full(count, -np.inf)
    sizes = np.zeros(count)
    for rho in AUTOCORRELATIONS:
        constant, y, x = (whitened(each, rho) for each in (np.ones(count), series, shapes))
        y = y - constant * (constant @ y) / (constant @ constant)
        x = x - np.outer(constant, constant @ x) / (constant @ constant)
        projected, length = y @ x, (x * x).sum(axis=0)
        jacobian = 0.5 * np.log(1 - rho * rho)
        rest = np.maximum(y @ y - projected**2 / length, 1e-12 * mean**2)
        likelihood = -count / 2 * np.log(rest) + jacobian
        without = max(without, -count / 2 * np.log(max(float(y @ y), 1e-12 * mean**2)) + jacobian)
        better = likelihood > with_change
        with_change[better], sizes[better] = likelihood[better], (projected / length)[better]
    best = int(with_change.argmax())
    size = float(sizes[best] / mean)
    if 2 * (with_change[best] - without) <= BEYOND_CHANCE or abs(size) <= limit:
        return None
    return _Change(None if best == count - 1 else best + 1, size)
