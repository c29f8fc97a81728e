"""The mean of a series whose neighbours resemble each other, as the windows of a run do, and its interval.

The noise is an AR(1) process. A few windows do not tell its correlation, so no single value is taken: the interval is that of the mixture
over all correlations, each with its restricted likelihood (the posterior of A. Zellner and G. C. Tiao, "Bayesian analysis of the regression
model with autocorrelated errors", JASA 59, 1964, with the likelihood of P. Diggle et al., "Analysis of Longitudinal Data", 4.5). Batch means
and an estimated effective number of windows take the correlation for known: they hold in 50-70% of series with a correlation of 0.8.

Only numpy is used: a run asks for the interval of its own windows, and an import of scipy would take a worker's CPU.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

LEAST = 5
"""Fewest values of an interval."""
MOST_GROUPS = 20
"""Most groups of a jackknife: a statistic may take milliseconds."""
SHOWN, DECIDING = 0.95, 0.99
"""Levels of intervals: of what is shown, and of what decides."""
CORRELATIONS = np.array([*np.linspace(-0.9, 0.9, 19), 0.94, 0.97, 0.985])
PRIOR = np.gradient(CORRELATIONS) * (1 - CORRELATIONS) ** -0.1
"""Weight of each correlation before any value is seen: almost uniform. The exponent makes 12 values with a correlation of 0.8 hold."""
REACH = np.linspace(0, 12, 481)
"""Inverse hyperbolic sines of the distances, in the least standard error, at which the mixture's density is summed."""

Series = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A mean with its interval; None, None: there are too few values for one."""

    mean: float
    low: float | None = None
    high: float | None = None
    correlation: float | None = None
    """Mean of the posterior of the correlation between neighbours."""

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval as a share of the mean; None without an interval, or without a positive mean."""
        return None if self.high is None or self.mean <= 0 else (self.high - self.mean) / self.mean


def mean_of(values: Sequence[float] | Series, level: float = SHOWN) -> Estimate:
    """The mean of at least one value, in the order of time, and its two-sided interval."""
    series = np.asarray(values, dtype=float)
    mean, count = float(series.mean()), len(series)
    if count < LEAST:
        return Estimate(mean)
    if np.ptp(series) == 0:
        return Estimate(mean, mean, mean)
    weights, errors = _posterior(series)
    margin = _margin(weights, errors, count - 1, level)
    return Estimate(mean, mean - margin, mean + margin, float(weights @ CORRELATIONS))


Part = TypeVar("Part")


def jackknife(
    parts: Sequence[Part], statistic: Callable[[Sequence[Part]], float | None], level: float = SHOWN
) -> Estimate | None:
    """A statistic of all parts together, which are in the order of time, and its interval. The mean of its pseudo-values, each of which is
    what a group of neighbours adds (J. W. Tukey, 1958), is a mean of a dependent series. Without an interval if a group cannot be left out.
    None: the statistic is."""
    whole, count = statistic(parts), min(len(parts), MOST_GROUPS)
    if whole is None or count < LEAST:
        return None if whole is None else Estimate(whole)
    edges = [len(parts) * n // count for n in range(count + 1)]
    without = [statistic([*parts[:first], *parts[end:]]) for first, end in pairwise(edges)]
    if any(value is None for value in without):
        return Estimate(whole)
    added = mean_of(count * whole - (count - 1) * np.array(without, dtype=float), level)
    margin = float(added.high or added.mean) - added.mean
    return Estimate(whole, whole - margin, whole + margin, added.correlation)


def whitened(values: Series, correlation: float) -> Series:
    """Independent values of a series with this correlation: each without what the one before it tells (S. J. Prais and C. B. Winsten, 1954)."""
    rest = values[1:] - correlation * values[:-1]
    return np.concatenate([np.sqrt(1 - correlation**2) * values[:1], rest])


def _posterior(series: Series) -> tuple[Series, Series]:
    """The weight of each correlation, and the standard error that the mean has with it."""
    count = len(series)
    deviations = series - series.mean()
    lags = np.arange(1, count)
    logs, errors = np.empty(len(CORRELATIONS)), np.empty(len(CORRELATIONS))
    for n, correlation in enumerate(CORRELATIONS):
        constant, values = whitened(np.ones(count), correlation), whitened(deviations, correlation)
        information = constant @ constant
        squares = max(float(values @ values - (values @ constant) ** 2 / information), float(np.finfo(float).tiny))
        logs[n] = (
            np.log(PRIOR[n])
            + np.log(1 - correlation**2) / 2
            - np.log(information) / 2
            - (count - 1) / 2 * np.log(squares)
        )
        of_mean = (count + 2 * ((count - lags) @ correlation**lags)) / (1 - correlation**2) / count**2
        errors[n] = np.sqrt(squares / (count - 1) * of_mean)
    weights = np.exp(logs - logs.max())
    return weights / weights.sum(), errors


def _margin(weights: Series, errors: Series, freedom: int, level: float) -> float:
    """How far the mixture of Student's t distributions around 0 reaches with a probability of `level`, by the trapezoidal rule."""
    at = errors.min() * np.sinh(REACH)
    density = (weights / errors) @ (1 + np.square(at / errors[:, None]) / freedom) ** (-(freedom + 1) / 2)
    density *= np.cosh(REACH)
    inside = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return float(np.interp(level, inside / inside[-1], at))
