"""The slope of a straight line through points, by least squares, with the interval of Student's t."""

from collections.abc import Sequence
from math import sqrt

import numpy as np

from windtunnel.stats.mean import SHOWN, Estimate
from windtunnel.stats.students_t import quantile


def slope_of(x: Sequence[float], y: Sequence[float], level: float = SHOWN) -> Estimate:
    """How much `y` grows per unit of `x`, from at least three points with two values of `x`."""
    of_x, of_y = (np.asarray(values, float) - np.mean(values) for values in (x, y))
    freedom, squares = len(x) - 2, float(of_x @ of_x)
    slope = float(of_x @ of_y) / squares
    rest = of_y - slope * of_x
    margin = quantile((1 + level) / 2, freedom) * sqrt(float(rest @ rest) / freedom / squares)
    return Estimate(slope, slope - margin, slope + margin)
