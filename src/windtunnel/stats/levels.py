"""Levels of a series: steps and a trend, in the windows of one run and in the runs of a history.

Neighbours resemble each other, because a host is slow for seconds, and for days. So the noise is an AR(1) process whose autocorrelation is
estimated with each candidate, and a change counts if its likelihood ratio is beyond what such noise shows by chance (M. Robbins et al., "Mean
shift testing in correlated data", J. Time Series Analysis 32, 2011). Only numpy is used: a run asks `course` whether to go on.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import expm1, log, sqrt

import numpy as np
from numpy.typing import NDArray

from windtunnel.stats.mean import Estimate, mean_of, step_of, whitened

LEAST_WINDOWS = 8
"""Fewest windows: with fewer, noise cannot be told from a change."""
BEYOND_CHANCE = 15.0
"""Twice the logarithm of the likelihood ratio. Series of 8 to 80 windows of AR(1) noise with autocorrelation 0 to 0.9 and a standard
deviation of 10% exceed it, with a change beyond 10%, in at most 5% of the cases (bench/steady_power.py)."""
MONITORED = 14.0
"""As BEYOND_CHANCE, of a history that is looked at after each of a hundred runs: a flat one shows a change at some time in 4, 14 and 23%
of the cases, with autocorrelations of 0, 0.3 and 0.5 (bench/coverage.py)."""
AUTOCORRELATIONS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95)
LEAST_RUNS = 12
"""Fewest runs of a history."""
RARER = 20
"""Each look comes after a part of the runs since the change, one of so many: a look after each run of a long history takes minutes in all."""
LEAST_BETWEEN = 3
"""Runs between two change points."""
LASTING = 5
"""Runs behind a step whose size `detectable` is."""
OF_POWER = 0.84
"""Standard errors by which a step exceeds the threshold that is found with a power of 80%."""
RESOLUTION = 0.0005
"""Least noise of a history: half a bucket of the engine's histograms, logarithmic."""

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
    """Levels and trend of the windows of a run, at least LEAST_WINDOWS. `limit`: the least change that counts, as a share."""
    series = np.asarray(values, dtype=float)
    starts = [0, *_steps_of_run(series, 0, limit), len(series)]
    levels = [Level(a, float(series[a:b].mean())) for a, b in pairwise(starts)]
    last = series[levels[-1].start :]
    change = _change_of_run(last, limit)
    trend = change.size if change and change.at is None else 0.0
    return Course(levels, trend, mean_of(last).half_width, len(series))


def change_points(values: Sequence[float], metrics: int = 1) -> list[int]:
    """Places of the first runs behind a change of level; at least LEAST_BETWEEN lie between two. `values` are above 0, in the order of the
    runs; fewer than LEAST_RUNS have none. `metrics`: how many are looked at, of which none may show a change by chance."""
    if len(values) < LEAST_RUNS:
        return []
    return _steps_of_history(np.log(np.asarray(values, float)), 0, MONITORED + 2 * log(metrics))


def size_of(values: Sequence[float], at: int, end: int, metrics: int = 1) -> tuple[Estimate, bool]:
    """The step at the change point `at`, in natural logarithms, by the runs up to `end`; and whether it is of later runs than those that
    showed it. Runs that show a step are those in which it seems large: -3% was shown as -4.2%."""
    series = np.log(np.asarray(values, float))
    shown = next(
        (
            n
            for n in _looks(at, end)
            if any(abs(each - at) < LEAST_BETWEEN for each in change_points(values[:n], metrics))
        ),
        end,
    )
    later = end - shown >= LEAST_BETWEEN
    return step_of(series[:end], at, shown if later else at), later


def _looks(at: int, end: int) -> Iterator[int]:
    """Numbers of runs with which somebody looks for a change at `at`: after each run, and more rarely the longer it is ago."""
    n = at + LEAST_BETWEEN
    while n < end:
        yield n
        n += max(1, (n - at) // RARER)


def detectable(values: Sequence[float], metrics: int = 1) -> float:
    """The smallest step, as a share, that LASTING runs at the end of as many runs would have shown with a power of 80%."""
    series = np.log(np.asarray(values, float))
    count, edges = len(series), [0, *change_points(values, metrics), len(series)]
    rest = np.concatenate([series[first:end] - series[first:end].mean() for first, end in pairwise(edges)])
    squares = float(rest @ rest)
    deviation = max(sqrt(squares / (count - len(edges) + 1)), RESOLUTION)
    correlation = min(max(float(rest[1:] @ rest[:-1]) / squares, 0.0), 0.8) if squares else 0.0
    inflation = (1 + correlation) / (1 - correlation)
    needed = sqrt(MONITORED + 2 * log(metrics)) + OF_POWER
    return float(expm1(needed * deviation * sqrt(inflation * count / (LASTING * (count - LASTING)))))


@dataclass(frozen=True)
class _Change:
    at: int | None
    """First value of the new level; None: a trend over all of them."""
    size: float
    statistic: float
    """Twice the logarithm of the likelihood ratio."""


def _steps_of_run(series: Series, offset: int, limit: float) -> list[int]:
    """First windows of all levels but the first, by binary segmentation."""
    change = _change_of_run(series, limit)
    if change is None or change.at is None:
        return []
    before, after = series[: change.at], series[change.at :]
    return [*_steps_of_run(before, offset, limit), offset + change.at, *_steps_of_run(after, offset + change.at, limit)]


def _change_of_run(series: Series, limit: float) -> _Change | None:
    """A step before some window or a straight trend, beyond the limit and beyond chance; its size is a share of the mean."""
    mean = float(series.mean())
    if len(series) < LEAST_WINDOWS or mean <= 0 or np.ptp(series) == 0:
        return None
    change = _likeliest(series / mean, 1, with_trend=True)
    return None if change.statistic <= BEYOND_CHANCE or abs(change.size) <= limit else change


def _steps_of_history(series: Series, offset: int, beyond: float) -> list[int]:
    """Likewise, of logarithms."""
    if len(series) < 2 * LEAST_BETWEEN or np.ptp(series) <= RESOLUTION:
        return []
    change = _likeliest(series, LEAST_BETWEEN, with_trend=False)
    if change.statistic <= beyond or change.at is None:
        return []
    before, after = series[: change.at], series[change.at :]
    return [
        *_steps_of_history(before, offset, beyond),
        offset + change.at,
        *_steps_of_history(after, offset + change.at, beyond),
    ]


def _likeliest(series: Series, least: int, with_trend: bool) -> _Change:
    """The likeliest change, with `least` values on either side of a step. Each series is made independent by the autocorrelation, then a
    regression on the step, or on the trend, follows: by sums of the values from the step on, which takes as many operations as there are."""
    count = len(series)
    steps = np.arange(least, count - least + 1)
    ramp = np.arange(count) / (count - 1)
    least_rest = 1e-12 * max(float(np.square(series).mean()), 1e-6)
    without, with_change = -np.inf, np.full(len(steps) + with_trend, -np.inf)
    sizes = np.zeros(len(with_change))
    for rho in AUTOCORRELATIONS:
        constant, y, trend = (whitened(each, rho) for each in (np.ones(count), series, ramp))
        information = constant @ constant
        y = y - constant * (constant @ y) / information
        # a whitened step is 0 before it, 1 at it, and 1 - rho behind it
        projected = rho * y[steps] + (1 - rho) * np.cumsum(y[::-1])[::-1][steps]
        shared = (1 - rho) * (rho + (1 - rho) * (count - steps))
        length = 1 + (1 - rho) ** 2 * (count - 1 - steps) - shared**2 / information
        if with_trend:
            projected = np.append(projected, y @ trend)
            length = np.append(length, trend @ trend - (constant @ trend) ** 2 / information)
        jacobian = 0.5 * np.log(1 - rho * rho)
        likelihood = -count / 2 * np.log(np.maximum(y @ y - projected**2 / length, least_rest)) + jacobian
        without = max(without, -count / 2 * np.log(max(float(y @ y), least_rest)) + jacobian)
        better = likelihood > with_change
        with_change[better], sizes[better] = likelihood[better], (projected / length)[better]
    best = int(with_change.argmax())
    at = int(steps[best]) if best < len(steps) else None
    return _Change(at, float(sizes[best]), float(2 * (with_change[best] - without)))
