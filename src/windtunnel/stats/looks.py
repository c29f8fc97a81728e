"""What pairs of runs show of a difference, looked at after every pair.

How much one pair scatters belongs mostly to the host. So a candidate is given up by the scatter of the pairs of all trials together, or its
own if that is greater: one pair is enough for one that is much slower. But one of five candidates that scatters four times as much would be
called better in a quarter of its trials. So better is only what its own pairs show. Each look has its share of the level (Bonferroni): all
looks of a trial together are wrong in at most LEVEL of the trials in which nothing differs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, variance

from windtunnel.stats.differences import RESOLUTION
from windtunnel.stats.students_t import quantile

LEVEL = 0.05
"""Significance level of all looks of one trial together."""
MOST_PAIRS = 6
"""Most pairs of a trial; there is a look after each."""
LEAST_FREEDOM = 2
"""Degrees of freedom of the scatter without which a look shows nothing: three pairs of one trial."""
SHARE = 1 - LEVEL / MOST_PAIRS / 2
"""Quantile of the two-sided interval of one look."""


@dataclass(frozen=True)
class Look:
    """The difference of a candidate from the incumbent, in natural logarithms of ratios."""

    difference: float
    low: float | None
    """Lower end of the interval that this look may use; None: the scatter is not known yet."""
    high: float | None
    own_low: float | None = None
    """Likewise, by the scatter of its own pairs alone; None: there are too few."""

    @property
    def decided(self) -> bool:
        return self.better or self.worse

    @property
    def better(self) -> bool:
        return self.low is not None and self.low > 0 and self.own_low is not None and self.own_low > 0

    @property
    def worse(self) -> bool:
        return self.high is not None and self.high < 0


def look(own: Sequence[float], others: Sequence[Sequence[float]]) -> Look:
    """`own`: differences of the trial's pairs so far, at least one; `others`: those of earlier trials, a list for each."""
    middle = fmean(own)
    squares, freedom = 0.0, 0
    for those in (own, *others):
        if len(those) > 1:
            mean = fmean(those)
            squares += sum((each - mean) ** 2 for each in those)
            freedom += len(those) - 1
    if freedom < LEAST_FREEDOM:
        return Look(middle, None, None)
    of_own = variance(own) if len(own) > 1 else 0.0
    margin = _margin(max(squares / freedom, of_own), freedom, len(own))
    own_low = middle - _margin(of_own, len(own) - 1, len(own)) if len(own) > LEAST_FREEDOM else None
    return Look(middle, middle - margin, middle + margin, own_low)


def _margin(scatter: float, freedom: int, pairs: int) -> float:
    """Half the interval of a mean of so many pairs. `scatter`: variance of one."""
    return quantile(SHARE, freedom) * sqrt((scatter + RESOLUTION**2) / pairs)
