"""The slope of a straight line through points, by least squares, with the interval of Student's t."""

from collections.abc import Sequence

from windtunnel.stats.mean import SHOWN, Estimate


def slope_of(x: Sequence[float], y: Sequence[float], level: float = SHOWN) -> Estimate:
    """How much `y` grows per unit of `x`, from at least three points with two values of `x`."""
    from scipy.stats import linregress, t  # half a second to import

    found = linregress(x, y)
    slope, margin = float(found.slope), float(t.ppf((1 + level) / 2, len(x) - 2)) * float(found.stderr)
    return Estimate(slope, slope - margin, slope + margin)
