"""The loads that a search measures at: a grid, so that all its goals come back to the same ones and share their trials."""

import math

from windtunnel.measure.search.goals import Limits

SPACING = 0.87
"""Distance of two places, as a share of the narrowest goal's width. The rest is room for a load close to the limit that chance puts on its
wrong side; narrower, noisy devices take more trials; wider, more of their results are off (bench/search.py)."""
ROUND = 0.01
"""Share of that width: loads are rounded to a power of ten below it, for people's sake."""


class Grid:
    """Places are integers, one more is one spacing more in the load's logarithm; the outermost are the limits
    themselves."""

    def __init__(self, limits: Limits, width: float, midway: float):
        """`width`: the narrowest goal's; `midway`: a load that is put halfway between two places, where a limit is expected."""
        self.least, self.greatest = limits.min_load, limits.max_load
        self.width, self.spacing = width, -math.log1p(-width) * SPACING
        self.origin = math.log(midway) - self.spacing / 2
        # never more than a spacing from the next place, and never so near that the two are one load
        self.first = math.floor(self.position(self.least) + ROUND)
        self.last = max(math.ceil(self.position(self.greatest) - ROUND), self.first + 1)

    def position(self, load: float) -> float:
        """Position of any load on the scale of the places; one outside the limits is moved to them."""
        return (math.log(min(max(load, self.least), self.greatest)) - self.origin) / self.spacing

    def place(self, load: float) -> int:
        """Place of a load that came from this grid."""
        if load == self.least:
            return self.first
        return self.last if load == self.greatest else round(self.position(load))

    def load(self, place: int) -> float:
        """Per second."""
        if place <= self.first:
            return self.least
        if place >= self.last:
            return self.greatest
        load = math.exp(self.origin + place * self.spacing)
        return float(round(load, -math.floor(math.log10(load * self.width * ROUND))))

    def within(self, width: float) -> int:
        """Places that two loads of such a width lie apart at the most, rounding allowed for; at least 1."""
        return max(1, math.floor(-math.log1p(-width * (1 - 2 * ROUND)) / self.spacing))
