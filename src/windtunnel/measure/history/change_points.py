"""Runs at which a history changes its level: PELT (R. Killick, P. Fearnhead, I. Eckley, 2012) on squared errors, by `ruptures`.

A change point must gain more than a penalty. Runs that follow each other resemble each other, and so does noise that persists look like a
change: the penalty grows with the first autocorrelation of what is left beside the steps that fit best, as the variance of a mean does (AR(1)). PENALTY
is from a simulation of flat and stepped series with autocorrelations of 0 to 0.5: `bench/history.py` has it, docs/explanation/history.md
what came out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import expm1, log, sqrt

import numpy as np
import ruptures
from scipy import stats

from windtunnel.stats.differences import LEAST_RUNS as LEAST_BETWEEN
from windtunnel.stats.differences import POWER, RESOLUTION

LEAST_RUNS = 12
"""Fewest runs of a history; with so many, a step of 2.5 standard deviations is found one time in three."""
PENALTY = 5.0
"""Times the logarithm of the number of runs, in variances of the noise."""
LASTING = 5
"""Runs behind a step whose size `detectable` is."""
MOST_CORRELATION = 0.8
LEAST_STEPS, RUNS_A_STEP, MOST_STEPS = 2, 20, 10
"""Steps beside which the noise is taken: two, as a change and its end are, and more in a long history."""
FIT = 2.0
"""Times the number of levels by the number of runs: what fitting the levels takes from the correlation."""


@dataclass(frozen=True)
class Noise:
    """What is left of a series beside its steps."""

    deviation: float
    correlation: float
    """Correlation of a run with the next one, from 0 on."""

    @property
    def inflation(self) -> float:
        """Times the variance of a mean of independent values."""
        return (1 + self.correlation) / (1 - self.correlation)


def change_points(values: Sequence[float]) -> list[int]:
    """Places of the first values behind a change; at least LEAST_BETWEEN values lie between two. `values` are above 0, in the order of
    the runs; fewer than LEAST_RUNS have none."""
    if len(values) < LEAST_RUNS:
        return []
    series = np.log(np.asarray(values, float))
    noise = noise_of(series)
    *places, _ = _search().fit(series[:, None] / noise.deviation).predict(pen=_penalty(len(series), noise))
    return [int(place) for place in places]


def detectable(values: Sequence[float]) -> float:
    """The smallest step, as a share, that LASTING runs at the end of as many runs show, with the power of `compare`."""
    series = np.log(np.asarray(values, float))
    count, noise = len(series), noise_of(series)
    needed = sqrt(_penalty(count, noise)) + stats.norm.ppf(POWER) * sqrt(noise.inflation)
    return float(expm1(needed * noise.deviation * sqrt(count / (LASTING * (count - LASTING)))))


def noise_of(series: np.ndarray) -> Noise:
    """Noise of logarithms without the steps that fit them best: steps are no noise."""
    count = len(series)
    steps = min(max(LEAST_STEPS, count // RUNS_A_STEP), MOST_STEPS)
    edges = [0, *_search().fit(series[:, None]).predict(n_bkps=steps)]
    left = np.concatenate([series[first:end] - series[first:end].mean() for first, end in pairwise(edges)])
    squares = float(left @ left)
    deviation = max(sqrt(squares / (count - 2 * steps)), RESOLUTION)
    correlation = float(left[1:] @ left[:-1]) / squares + FIT * (steps + 1) / count if squares else 0.0
    return Noise(deviation, min(max(correlation, 0.0), MOST_CORRELATION))


def _search() -> ruptures.KernelCPD:
    """The search. With a linear kernel it is PELT with squared errors, in C; with a number of change points, the best of that number."""
    return ruptures.KernelCPD(kernel="linear", min_size=LEAST_BETWEEN)


def _penalty(count: int, noise: Noise) -> float:
    return PENALTY * log(count) * noise.inflation
