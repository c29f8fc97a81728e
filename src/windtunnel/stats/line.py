"""The slope of a straight line through points, by least squares."""

from collections.abc import Sequence

from windtunnel.stats.mean import Estimate

ERRORS = 2
"""Standard errors from the slope to an end of its interval."""


def slope_of(x: Sequence[float], y: Sequence[float]) -> Estimate:
    """How much `y` grows per unit of `x`, from at least three points with two values of `x`."""
    from scipy.stats import linregress  # half a second to import

    found = linregress(x, y)
    slope, margin = float(found.slope), ERRORS * float(found.stderr)
    return Estimate(slope, slope - margin, slope + margin)
