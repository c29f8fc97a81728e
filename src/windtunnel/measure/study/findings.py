"""The best point of a study, and whether it can be distinguished from the runner-up.

The repeats are blocks of all points: points are compared on the logarithm of a metric, without what a block has in common, and with
intervals that hold for all points together (`windtunnel.stats.points`), because the best of many is partly best by luck.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from windtunnel.stats.points import Points, points_in_blocks


@dataclass(frozen=True)
class Sample:
    """The valid runs of one point: the values of one metric."""

    point: int
    values: tuple[float, ...]
    repeats: tuple[int, ...]
    """The block of each value."""

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


def rows_of_workload(rows: Sequence[dict[str, Any]], workload: str | None) -> list[dict[str, Any]]:
    """The rows of one of `workloads`."""
    return [row for row in rows if workload in (None, row["workload"])]


def samples(rows: Sequence[dict[str, Any]], metric: str, workload: str | None) -> list[Sample]:
    """One for each point that has a valid run with the metric, in the order of the points."""
    of_points: dict[int, dict[int, float]] = {}
    for row in rows_of_workload(rows, workload):
        if row[metric] is not None:
            of_points.setdefault(row["point"], {})[row["repeat"]] = float(row[metric])
    return [Sample(point, tuple(values.values()), tuple(values)) for point, values in sorted(of_points.items())]


def find(samples: Sequence[Sample], lower_is_better: bool) -> Finding | None:
    """The best point and its distance from the second one; None if nothing was measured."""
    ranked = sorted(samples, key=lambda sample: sample.middle if lower_is_better else -sample.middle)
    if not ranked:
        return None
    best, second = ranked[0], ranked[1] if len(ranked) > 1 else None
    points = _points(ranked)
    if points is None:
        return Finding(best, None, second, None, None)
    interval = _around(float(points.levels[0]), float(points.margins[0]))
    if second is None:
        return Finding(best, interval, None, None, None)
    middle = (-1 if lower_is_better else 1) * float(points.levels[0] - points.levels[1])
    return Finding(best, interval, second, math.exp(middle), _around(middle, points.margin_between(0, 1)))


def _points(samples: Sequence[Sample]) -> Points | None:
    """Levels of the logarithms; None: a value has none, or the repeats are too few."""
    if any(value <= 0 for sample in samples for value in sample.values):
        return None
    return points_in_blocks([dict(zip(sample.repeats, sample.logs, strict=True)) for sample in samples])


def _around(middle: float, margin: float) -> tuple[float, float]:
    return math.exp(middle - margin), math.exp(middle + margin)
