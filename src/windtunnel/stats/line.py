"""The slope of a straight line through points, by least squares, with the interval of Student's t."""

from collections.abc import Sequence
from math import sqrt

import numpy as np

from windtunnel.stats.mean import SHOWN, Estimate
from windtunnel.stats.students_t import quantile


def slope_of(x: Sequence[float], y: Sequence[float], level: float = SHOWN) -> Estimate:
    """How much `y` grows per unit of `x`, from at least three points with two values of `x`."""
    (slope, _), covariance = np.polyfit(x, y, 1, cov=True)
    margin = quantile((1 + level) / 2, len(x) - 2) * sqrt(covariance[0, 0])
    return Estimate(*map(float, (slope, slope - margin, slope + margin)))
