"""The best point of a study, and whether it can be distinguished from the runner-up.

The runs are blocks of all points, so points are compared on the logarithm of a metric with the scatter of all points'
repeats taken together, and with Tukey and Kramer's honest significant difference: the best of many is partly best by luck,
and the studentized range takes into account of how many it was chosen.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Sample:
    """The valid runs of one point: the values of one metric."""

    point: int
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def logs(self) -> list[float]:
        return [math.log(value) for value in self.values]

    @property
    def middle(self) -> float:
        """The geometric mean, which the comparison is about; the median if a value has no logarithm."""
        return math.exp(statistics.fmean(self.logs)) if min(self.values) > 0 else self.median


@dataclass(frozen=True)
class Finding:
    """The best point of a metric. Intervals are at 95%; None if there are too few repeats."""

    best: Sample
    interval: tuple[float, float] | None
    """Interval of the best point's metric."""
    second: Sample | None
    ratio: float | None
    """Ratio of the best to the second best, or the other way round if less is better: at least 1."""
    ratio_interval: tuple[float, float] | None

    @property
    def differs(self) -> bool | None:
        """Whether the best can be distinguished from the second best; None: not known."""
        return None if self.ratio_interval is None else self.ratio_interval[0] > 1


def workloads(rows: Sequence[dict[str, Any]]) -> list[str | None]:
    """The workloads that have metrics of their own, in their order. One None if each run has one at most: it is the same one
    then, whatever its name, which comes from a handler that may be a factor."""
    if len({(row["point"], row["repeat"]) for row in rows}) == len(rows):
        return [None] if rows else []
    return list(dict.fromkeys(row["workload"] for row in rows))


def of_workload(rows: Sequence[dict[str, Any]], workload: str | None) -> list[dict[str, Any]]:
    """The rows of one of `workloads`."""
    return [row for row in rows if workload in (None, row["workload"])]


def samples(rows: Sequence[dict[str, Any]], metric: str, workload: str | None) -> list[Sample]:
    """One for each point that has a valid run with the metric, in the order of the points."""
    values_by_point: dict[int, list[float]] = {}
    for row in of_workload(rows, workload):
        if row[metric] is not None:
            values_by_point.setdefault(row["point"], []).append(float(row[metric]))
    return [Sample(point, tuple(values)) for point, values in sorted(values_by_point.items())]


def find(those: Sequence[Sample], lower_is_better: bool) -> Finding | None:
    """The best point and its distance from the second one; None if nothing was measured."""
    ranked = sorted(those, key=lambda sample: sample.middle if lower_is_better else -sample.middle)
    if not ranked:
        return None
    best, second = ranked[0], ranked[1] if len(ranked) > 1 else None
    scatter = _scatter(ranked)
    interval = _interval(best, *scatter) if scatter else None
    if second is None or scatter is None:
        return Finding(best, interval, second, None, None)
    sign = -1 if lower_is_better else 1
    middle = sign * (statistics.fmean(best.logs) - statistics.fmean(second.logs))
    half = _honest_half_width(best, second, len(ranked), *scatter)
    return Finding(best, interval, second, math.exp(middle), (math.exp(middle - half), math.exp(middle + half)))


def _scatter(those: Sequence[Sample]) -> tuple[float, int] | None:
    """Standard deviation of a single run's logarithm about its point's, and its degrees of freedom."""
    if any(value <= 0 for sample in those for value in sample.values):
        return None
    freedom = sum(len(sample.values) - 1 for sample in those)
    if freedom == 0:
        return None
    squares = sum((log - statistics.fmean(s.logs)) ** 2 for s in those for log in s.logs)
    return math.sqrt(squares / freedom), freedom


def _interval(sample: Sample, deviation: float, freedom: int) -> tuple[float, float]:
    from scipy.stats import t

    middle = statistics.fmean(sample.logs)
    half = t.ppf((1 + CONFIDENCE) / 2, freedom) * deviation / math.sqrt(len(sample.values))
    return math.exp(middle - half), math.exp(middle + half)


def _honest_half_width(a: Sample, b: Sample, points: int, deviation: float, freedom: int) -> float:
    error = deviation * math.sqrt((1 / len(a.values) + 1 / len(b.values)) / 2)
    return _studentized_range(points, freedom) * error


@cache
def _studentized_range(points: int, freedom: int) -> float:
    """Its quantile; an integral that takes a quarter of a second."""
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(CONFIDENCE, points, freedom))
