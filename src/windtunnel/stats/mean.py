"""The mean of a series whose neighbours resemble each other, as the windows of a run do, and its interval.

The noise is an AR(1) process, and noise of each value's own beside it. A few values tell neither the correlation nor the shares of the two,
so none is taken for known: the interval is that of the mixture over all of them, each with its restricted likelihood (the posterior of
A. Zellner and G. C. Tiao, "Bayesian analysis of the regression model with autocorrelated errors", JASA 59, 1964; P. Diggle et al., "Analysis
of Longitudinal Data", 4.5). Batch means, or an estimated effective number of values, hold in 50-70% of series with a correlation of 0.8; AR(1)
alone holds in 70-80% where each value has noise of its own.

Only numpy is used: a run asks for the interval of its own windows, and an import of scipy would take a worker's CPU.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

LEAST = 5
"""Fewest values of an interval."""
MOST_GROUPS = 20
"""Most groups of a jackknife: a statistic may take milliseconds."""
MOST_VALUES = 80
"""Longer series are means of so many groups of neighbours: the matrices have as many rows."""
SHOWN, DECIDING = 0.95, 0.99
"""Levels of intervals: of what is shown, and of what decides."""
CORRELATIONS = np.array([*np.linspace(-0.9, 0.9, 19), 0.94, 0.97, 0.985])
OWN_NOISE = {0.0: 0.7, 0.5: 0.2, 0.8: 0.1}
"""Share of each value's own noise in the variance -> its weight before any value is seen, for correlations above 0."""
LEANING = 0.25
"""Exponent by which the weight of a correlation grows towards 1: 12 values with a correlation of 0.8 hold with it."""
REACH = np.linspace(0, 12, 481)
"""Inverse hyperbolic sines of the distances, in the least standard error, at which the mixture's density is summed."""

Series = NDArray[np.float64]
Part = TypeVar("Part")


@dataclass(frozen=True)
class Estimate:
    """A mean with its interval; None, None: there are too few values for one."""

    mean: float
    low: float | None = None
    high: float | None = None

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval as a share of the mean; None without an interval, or without a positive mean."""
        return None if self.high is None or self.mean <= 0 else (self.high - self.mean) / self.mean


def mean_of(values: Sequence[float] | Series, level: float = SHOWN) -> Estimate:
    """The mean of at least one value, in the order of time, and its two-sided interval."""
    series = np.asarray(values, dtype=float)
    mean = float(series.mean())
    if len(series) < LEAST:
        return Estimate(mean)
    if np.ptp(series) == 0:
        return Estimate(mean, mean, mean)
    if len(series) > MOST_VALUES:
        series = np.array([group.mean() for group in np.array_split(series, MOST_VALUES)])
    design = np.ones((len(series), 1))
    weights, errors = _posterior(series - series.mean(), design, design[:, 0] / len(series))
    margin = _margin(weights, errors, len(series) - 1, level)
    return Estimate(mean, mean - margin, mean + margin)


def step_of(values: Sequence[float] | Series, at: int, since: int | None = None, level: float = DECIDING) -> Estimate:
    """How far a series lies higher from the value `at` on than before; by the values from `since` on, if those before it chose the place. Of
    long series the MOST_VALUES around the step."""
    series = np.asarray(values, dtype=float)
    since = at if since is None else since
    first = max(at - MOST_VALUES // 2, 0)
    series, at, since = series[first : since + MOST_VALUES // 2], at - first, since - first
    places = np.arange(len(series))
    design = np.column_stack([places < at, places >= at]).astype(float)
    contrast = np.where(places < at, -1 / at, np.where(places >= since, 1 / (len(series) - since), 0.0))
    step = float(contrast @ series)
    rest = series - design @ np.array([series[:at].mean(), series[at:].mean()])
    if np.ptp(rest) == 0:
        return Estimate(step, step, step)
    weights, errors = _posterior(rest, design, contrast)
    margin = _margin(weights, errors, len(series) - 2, level)
    return Estimate(step, step - margin, step + margin)


def neighbours(parts: Sequence[Part]) -> list[Sequence[Part]]:
    """The groups of parts in a row that `jackknife` leaves out: at most MOST_GROUPS. What is summed over each of them beforehand gives the
    same interval, and takes no longer if there are many parts."""
    count = min(len(parts), MOST_GROUPS)
    return [parts[len(parts) * n // count : len(parts) * (n + 1) // count] for n in range(count)]


def jackknife(
    parts: Sequence[Part], statistic: Callable[[Sequence[Part]], float | None], level: float = SHOWN
) -> Estimate | None:
    """A statistic of all parts together, which are in the order of time, and its interval. The mean of its pseudo-values, each of which is
    what a group of neighbours adds (J. W. Tukey, 1958), is a mean of a dependent series. Without an interval if a group cannot be left out.
    None: the statistic is."""
    whole, groups = statistic(parts), neighbours(parts)
    count = len(groups)
    if whole is None or count < LEAST:
        return None if whole is None else Estimate(whole)
    without = [statistic([part for group in (*groups[:n], *groups[n + 1 :]) for part in group]) for n in range(count)]
    if any(value is None for value in without):
        return Estimate(whole)
    added = mean_of(count * whole - (count - 1) * np.array(without, dtype=float), level)
    margin = float(added.high or added.mean) - added.mean
    return Estimate(whole, whole - margin, whole + margin)


def whitened(values: Series, correlation: float) -> Series:
    """Independent values of a series with this correlation: each without what the one before it tells (S. J. Prais and C. B. Winsten, 1954)."""
    rest = values[1:] - correlation * values[:-1]
    return np.concatenate([np.sqrt(1 - correlation**2) * values[:1], rest])


@dataclass(frozen=True)
class _Noises:
    """All kinds of noise of a series of one length; the first axis of each array is the kind."""

    log_prior: Series
    """With the determinant of the whitening matrix."""
    covariance: NDArray[np.float64]
    """With the variance of a value as the unit."""
    whitening: NDArray[np.float64]
    """Makes values of this noise independent."""


@lru_cache(maxsize=16)
def _noises(count: int) -> _Noises:
    widths = np.gradient(CORRELATIONS) * (1 - CORRELATIONS) ** -LEANING
    kinds = [
        (correlation, own, np.log(width * (weight if correlation > 0 else 1)))
        for correlation, width in zip(CORRELATIONS, widths, strict=True)
        for own, weight in OWN_NOISE.items()
        if correlation > 0 or own == 0
    ]
    lags = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    covariances = np.array([(1 - own) * r**lags + own * np.eye(count) for r, own, _ in kinds])
    factors = np.linalg.cholesky(covariances)
    return _Noises(
        log_prior=np.array([prior for *_, prior in kinds]) - np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1),
        covariance=covariances,
        whitening=np.linalg.inv(factors),
    )


def _posterior(rest: Series, design: NDArray[np.float64], contrast: Series) -> tuple[Series, Series]:
    """The weight of each kind of noise, and the standard error that a sum of the values times `contrast` has with it. `rest`: the values
    without their means by the columns of `design`."""
    noises, freedom = _noises(len(rest)), len(rest) - design.shape[1]
    values, columns = noises.whitening @ rest, noises.whitening @ design
    information = columns.transpose(0, 2, 1) @ columns
    projected = (columns.transpose(0, 2, 1) @ values[:, :, None])[:, :, 0]
    fitted = np.linalg.solve(information, projected[:, :, None])[:, :, 0]
    squares = np.square(values).sum(axis=1) - (projected * fitted).sum(axis=1)
    squares = np.maximum(squares, np.finfo(float).tiny)
    logs = noises.log_prior - np.linalg.slogdet(information)[1] / 2 - freedom / 2 * np.log(squares)
    weights = np.exp(logs - logs.max())
    return weights / weights.sum(), np.sqrt(squares / freedom * (noises.covariance @ contrast @ contrast))


def _margin(weights: Series, errors: Series, freedom: int, level: float) -> float:
    """How far the mixture of Student's t distributions around 0 reaches with a probability of `level`, by the trapezoidal rule."""
    at = errors.min() * np.sinh(REACH)
    density = (weights / errors) @ (1 + np.square(at / errors[:, None]) / freedom) ** (-(freedom + 1) / 2)
    density *= np.cosh(REACH)
    inside = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return float(np.interp(level, inside / inside[-1], at))
