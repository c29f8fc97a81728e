"""Points that were measured in blocks, as those of a study in its repeats: what each one's level is, and how far two are apart.

What a block has in common (the host was slow for a minute) is taken out: values are a point's level, a block's, and noise, by least squares
(H. Scheffé, "The Analysis of Variance", 4.2). The best of many points is partly best by luck: intervals of levels hold for all points
together (Z. Šidák, "Rectangular confidence regions for the means of multivariate normal distributions", JASA 62, 1967), and so do those of
differences (C. Y. Kramer, 1956, with Tukey's studentized range).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from windtunnel.stats.mean import SHOWN
from windtunnel.stats.students_t import quantile


@dataclass(frozen=True)
class Points:
    """Levels of points over the blocks of all of them."""

    levels: NDArray[np.float64]
    unscaled: NDArray[np.float64]
    """Covariance of the levels by the variance of a value."""
    deviation: float
    """Standard deviation of a value, without its point and its block."""
    freedom: int

    @cached_property
    def margins(self) -> NDArray[np.float64]:
        """Half the intervals of the levels, which hold all together."""
        tail = (1 - SHOWN ** (1 / len(self.levels))) / 2
        errors = self.deviation * np.sqrt(np.diagonal(self.unscaled))
        return quantile(1 - tail, self.freedom) * errors

    def margin_between(self, a: int, b: int) -> float:
        """Half the interval of the difference of two levels, which holds for all pairs together."""
        variance = self.unscaled[a, a] + self.unscaled[b, b] - 2 * self.unscaled[a, b]
        return _studentized_range(len(self.levels), self.freedom) * self.deviation * sqrt(variance / 2)


def points_in_blocks(values: Sequence[Mapping[int, float]]) -> Points | None:
    """`values`: of each point, by its block; those of a single point have no block in common with anything. None: no point has two values, or
    too few points have blocks in common to tell the scatter of a value."""
    numbers = sorted({block for of_point in values for block in of_point}) if len(values) > 1 else []
    blocks = {block: n for n, block in enumerate(numbers)}
    places = [(point, blocks.get(block, 0), value) for point, of in enumerate(values) for block, value in of.items()]
    point, block, value = (np.array(column) for column in zip(*places, strict=True))
    rows, count = np.arange(len(places)), len(values)
    design = np.zeros((len(places), count + max(len(blocks) - 1, 0)))
    design[rows, point] = 1
    # the levels of the blocks add up to 0: a point's is its mean over all blocks
    for n in range(len(blocks) - 1):
        design[block == n, count + n] = 1
        design[block == len(blocks) - 1, count + n] = -1
    freedom = len(places) - design.shape[1]
    if freedom < 1 or np.linalg.matrix_rank(design) < design.shape[1]:
        return None
    unscaled = np.linalg.inv(design.T @ design)
    fitted = unscaled @ design.T @ value
    rest = value - design @ fitted
    levels, covariance = np.asarray(fitted[:count], float), np.asarray(unscaled[:count, :count], float)
    return Points(levels, covariance, sqrt(float(rest @ rest) / freedom), freedom)


@cache
def _studentized_range(points: int, freedom: int) -> float:
    """Its quantile; an integral that takes a quarter of a second."""
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(SHOWN, max(points, 2), freedom))
