"""How far apart two sets of runs are: an estimate, its interval, a p-value, and the smallest detectable difference.

Everything is in natural logarithms: a difference is a ratio, and twice as fast is as far away as half as fast.

Pairs run in random order allow an exact test whatever the machine does meanwhile (drift, steps, neighbours): had A and B been
the same, each pair's difference would have had either sign with the same chance. So pairs are judged by Wilcoxon's signed ranks,
other runs by Mann and Whitney's ranks, and the interval is the test turned around (Hodges and Lehmann, 1963; Bauer, 1972).
Bootstrap intervals of 15 pairs find differences that do not exist in 2-12 of 100 comparisons at a level of 1%:
docs/explanation/comparing.md has the simulation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import comb, inf, sqrt
from typing import Literal

import numpy as np

from windtunnel.stats import students_t
from windtunnel.stats.median import chance_at_any_look, interval_at_any_look, least_at_any_look

LEVEL = 0.01
"""Significance level of every test; intervals are of 1 - LEVEL, if nobody asks for another level."""
POWER = 0.8
"""Probability with which the smallest difference is found."""
LEAST_RUNS = 3
"""Runs of a side; with fewer, the spread between runs is not known."""
LEAST_LOOKED_AT = least_at_any_look(1 - LEVEL)
"""Pairs that have an interval at any look."""
RESOLUTION = 0.0005
"""Half a bucket of the engine's histograms, logarithmic: no metric of a run is finer."""
EXACT_PAIRS = 100
EXACT_RUNS = 3600
"""Runs of A times runs of B. Above these the distributions of ranks are normal for all purposes."""

Method = Literal["paired", "unpaired", "assumed", "at any look"]


@dataclass(frozen=True)
class Estimate:
    """B against A, in natural logarithms of ratios."""

    method: Method
    half_way: float
    """Half-way from A to B, on the logarithm: what is found of the sum as the difference is of the difference. A is half of the
    difference below it, and B above: A, B and difference agree."""
    difference: float
    low: float
    high: float
    smallest: float
    """Smallest difference that is detected with POWER."""
    error: float
    """Standard error of the difference."""
    freedom: float
    """Degrees of freedom of the error."""
    effect: float | None
    """Chance that a run of B is above one of A, ties counted half (Vargha and Delaney's A): of the pairs, or of all against
    all. None: the runs are too few."""
    p: float


def paired(a: Sequence[float], b: Sequence[float], level: float = LEVEL) -> Estimate:
    """`a[i]` and `b[i]` were run one after the other, at least LEAST_RUNS of them; all are above 0."""
    of_a, of_b = (np.log(np.asarray(values, float)) for values in (a, b))
    differences, middles = of_b - of_a, (of_a + of_b) / 2
    count = len(differences)
    effect = _share_above(differences)
    distribution = _signed_ranks(count)
    if _cut(distribution, level) < 0:
        error = sqrt((differences.var(ddof=1) + RESOLUTION**2) / count)
        return _by_t("paired", middles.mean(), differences.mean(), error, count - 1, effect, level)
    rows, columns = np.triu_indices(count)
    walsh, half_way = ((values[rows] + values[columns]) / 2 for values in (differences, middles))
    return _by_ranks("paired", np.median(half_way), np.sort(walsh), distribution, count - 1, effect, level)


def paired_at_any_look(a: Sequence[float], b: Sequence[float], level: float = LEVEL) -> Estimate | None:
    """Pairs as of `paired`, if somebody looks after each and stops as soon as they show enough: the interval of their median difference holds
    at all looks together, and so does the p-value. None: too few pairs for one."""
    of_a, of_b = (np.log(np.asarray(values, float)) for values in (a, b))
    differences, middles = of_b - of_a, (of_a + of_b) / 2
    low, high = interval_at_any_look(differences.tolist(), 1 - level)
    if low is None or high is None:
        return None
    count = len(differences)
    low, high = low - RESOLUTION / 2, high + RESOLUTION / 2
    # what lies at 0 speaks against a difference
    beyond = max(int(np.count_nonzero(sign * differences > RESOLUTION / 2)) for sign in (1, -1))
    error = (high - low) / 2 / students_t.quantile(1 - level / 2, count - 1)
    return Estimate(
        method="at any look",
        half_way=float(np.median(middles)),
        difference=float(np.median(differences)),
        low=low,
        high=high,
        smallest=_detectable(count - 1) * error,
        error=error,
        freedom=count - 1,
        effect=_share_above(differences),
        p=chance_at_any_look(count - beyond, count) if 2 * beyond > count else 1.0,
    )


def unpaired(a: Sequence[float], b: Sequence[float], level: float = LEVEL) -> Estimate:
    """Runs of both sides, at least LEAST_RUNS of each, that no order in time ties; all are above 0."""
    of_a, of_b = (np.log(np.asarray(values, float)) for values in (a, b))
    between = np.sort(np.subtract.outer(of_b, of_a).ravel())
    effect = _share_above(between)
    squares = [(values.var(ddof=1) + RESOLUTION**2) / len(values) for values in (of_a, of_b)]
    freedom = sum(squares) ** 2 / sum(s**2 / (len(v) - 1) for s, v in zip(squares, (of_a, of_b), strict=True))
    distribution = _ranks(len(of_a), len(of_b))
    if _cut(distribution, level) < 0:
        half_way, difference = (of_a.mean() + of_b.mean()) / 2, of_b.mean() - of_a.mean()
        return _by_t("unpaired", half_way, difference, sqrt(sum(squares)), freedom, effect, level)
    half_way = np.median(np.add.outer(of_b, of_a)) / 2
    return _by_ranks("unpaired", half_way, between, distribution, freedom, effect, level)


def assumed(a: Sequence[float], b: Sequence[float], between: float, within: float, level: float = LEVEL) -> Estimate:
    """Too few runs to tell how runs differ: `between` is the assumed standard deviation of the logarithm from run to run, or
    that of the runs at hand if theirs is greater; `within` the standard error that comes from the windows inside them."""
    sides = [np.log(np.asarray(values, float)) for values in (a, b)]
    deviations = [float(np.std(values, ddof=1)) for values in sides if len(values) > 1]
    error = sqrt(max(between, *deviations, RESOLUTION) ** 2 * sum(1 / len(values) for values in sides) + within**2)
    of_a, of_b = (values.mean() for values in sides)
    return _by_t("assumed", (of_a + of_b) / 2, of_b - of_a, error, inf, None, level)


def whole(parts: Sequence[Estimate]) -> Estimate:
    """The mean of several points' differences, each with its own error; degrees of freedom after Satterthwaite."""
    squares = [part.error**2 for part in parts]
    shares = sum(s**2 / part.freedom for s, part in zip(squares, parts, strict=True))
    freedom = sum(squares) ** 2 / shares if shares else inf
    half_way, difference = (
        float(np.mean(values)) for values in zip(*((p.half_way, p.difference) for p in parts), strict=True)
    )
    method = max((part.method for part in parts), key=("paired", "at any look", "unpaired", "assumed").index)
    return _by_t(method, half_way, difference, sqrt(sum(squares)) / len(parts), freedom, None, LEVEL)


def _by_t(
    method: Method,
    half_way: float,
    difference: float,
    error: float,
    freedom: float,
    effect: float | None,
    level: float,
) -> Estimate:
    """Estimates by Student's t, by Gauss's if `freedom` is infinite."""
    margin = students_t.quantile(1 - level / 2, freedom) * error
    return Estimate(
        method=method,
        half_way=float(half_way),
        difference=float(difference),
        low=float(difference - margin),
        high=float(difference + margin),
        smallest=float(_detectable(freedom) * error),
        error=float(error),
        freedom=float(freedom),
        effect=effect,
        p=2 * students_t.chance_above(abs(difference) / error, freedom),
    )


def _by_ranks(
    method: Method,
    half_way: float,
    ordered: np.ndarray,
    distribution: np.ndarray,
    freedom: float,
    effect: float,
    level: float,
) -> Estimate:
    """Estimates from all differences that the rank statistic counts (Walsh averages, or all pairs), ascending: how many are above
    0 is the statistic, and the interval goes from the k-th of them to the k-th from the end."""
    cut = _cut(distribution, level)
    low, high = ordered[cut] - RESOLUTION / 2, ordered[-cut - 1] + RESOLUTION / 2
    beyond = [np.count_nonzero(sign * ordered > RESOLUTION / 2) for sign in (1, -1)]
    least = len(ordered) - max(beyond)  # what lies at 0 speaks against a difference
    error = float(high - low) / 2 / students_t.quantile(1 - level / 2, freedom)
    return Estimate(
        method=method,
        half_way=float(half_way),
        difference=float(np.median(ordered)),
        low=float(low),
        high=float(high),
        smallest=float(_detectable(freedom) * error),
        error=float(error),
        freedom=float(freedom),
        effect=effect,
        p=float(min(1.0, 2 * distribution[: least + 1].sum())),
    )


@cache
def _detectable(freedom: float) -> float:
    """Difference, in standard errors, that a test of LEVEL detects with POWER."""
    critical = students_t.quantile(1 - LEVEL / 2, freedom)
    if freedom > 1000:  # the noncentral t is the normal by then
        return critical + students_t.quantile(POWER, inf)
    return students_t.distance_found(critical, freedom, POWER)


def _cut(distribution: np.ndarray, level: float) -> int:
    """The greatest value that the statistic does not exceed with half of the level; -1 if even 0 is too likely: too few runs."""
    return int(np.searchsorted(np.cumsum(distribution), level / 2, side="right")) - 1


def _share_above(differences: np.ndarray) -> float:
    return float(np.mean((differences > 0) + (differences == 0) / 2))


@cache
def _signed_ranks(count: int) -> np.ndarray:
    """Probability of each value of Wilcoxon's statistic, 0 .. n (n + 1) / 2, if nothing differs."""
    highest = count * (count + 1) // 2
    if count > EXACT_PAIRS:
        return _normal(highest, sqrt(count * (count + 1) * (2 * count + 1) / 24))
    ways = np.ones(1)
    for rank in range(1, count + 1):
        ways = np.concatenate([ways, np.zeros(rank)]) / 2 + np.concatenate([np.zeros(rank), ways]) / 2
    return ways


@cache
def _ranks(of_a: int, of_b: int) -> np.ndarray:
    """Probability of each value of Mann and Whitney's statistic, 0 .. n m, if nothing differs."""
    if of_a * of_b > EXACT_RUNS:
        return _normal(of_a * of_b, sqrt(of_a * of_b * (of_a + of_b + 1) / 12))
    ways = np.zeros((of_a + 1, of_a * of_b + 1))  # [runs of A][statistic], while the runs of B grow
    ways[:, 0] = 1
    for others in range(1, of_b + 1):
        for placed in range(1, of_a + 1):
            ways[placed, others:] += ways[placed - 1, :-others]
    return np.asarray(ways[of_a] / comb(of_a + of_b, of_a))


def _normal(highest: int, spread: float) -> np.ndarray:
    """Probability of each value of a statistic between 0 and `highest` that is almost normal."""
    edges = students_t.normal_below((np.arange(highest + 2) - 0.5 - highest / 2) / spread)
    return np.asarray(np.diff(edges) / (edges[-1] - edges[0]))
