"""The loads that a search measures at: a grid, so that all its goals come back to the same ones and share their trials."""

import math

from windtunnel.measure.search.goals import Limits

import os
SPACING = float(os.environ.get('SPACING',0.75))
"""Of the narrowest goal's width, in the logarithm. Less than all of it leaves room for a load close to the limit that chance puts
on its wrong side."""
ROUND = 0.01
"""Of that width: loads are rounded to a power of ten below it, for people's sake."""


class Grid:
    """Places are integers, one more is one spacing more; the outermost two are the limits themselves."""

    def __init__(self, limits: Limits, width: float, midway: float):
        """`width` is the narrowest goal's; `midway`, a load, is put halfway between two places."""
        self.least, self.greatest = limits.min_load, limits.max_load
        self.width = width
        self.spacing = -math.log1p(-width) * SPACING
        self.origin = math.log(midway) - self.spacing / 2
        self.first = math.ceil(self.position(self.least) - 0.5)
        self.last = max(math.floor(self.position(self.greatest) + 0.5), self.first + 1)

    def position(self, load: float) -> float:
        return (math.log(min(max(load, self.least), self.greatest)) - self.origin) / self.spacing

    def place(self, load: float | None) -> int | None:
        if load is None:
            return None
        if load == self.least:
            return self.first
        return self.last if load == self.greatest else round(self.position(load))

    def load(self, place: int) -> float:
        if place <= self.first:
            return self.least
        if place >= self.last:
            return self.greatest
        load = math.exp(self.origin + place * self.spacing)
        return round(load, -math.floor(math.log10(load * self.width * ROUND)))

    def within(self, width: float) -> int:
        """Places that two loads of such a width may lie apart; at least 1."""
        return max(1, math.floor(-math.log1p(-width) * 0.98 / self.spacing))
