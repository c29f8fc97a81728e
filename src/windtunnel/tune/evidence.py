"""What pairs of runs show of a difference, looked at after every pair.

How much one pair scatters belongs to the host, not to the candidate. So the scatter comes from the pairs of all trials together, and one
pair is enough for a candidate that is much slower. Each look has its share of the level (Bonferroni): all looks of a trial together are
wrong in at most LEVEL of the trials in which nothing differs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean

from windtunnel.stats.differences import RESOLUTION

LEVEL = 0.05
"""Significance level of all looks of one trial together."""
MOST_PAIRS = 6
"""Most pairs of a trial; there is a look after each."""
LEAST_FREEDOM = 2
"""Degrees of freedom of the scatter without which a look shows nothing: three pairs of one trial."""


@dataclass(frozen=True)
class Look:
    """The difference of a candidate from the incumbent, in natural logarithms of ratios."""

    difference: float
    low: float | None
    """Lower end of the interval that this look may use; None: the scatter is not known yet."""
    high: float | None

    @property
    def decided(self) -> bool:
        return self.better or self.worse

    @property
    def better(self) -> bool:
        return self.low is not None and self.low > 0

    @property
    def worse(self) -> bool:
        return self.high is not None and self.high < 0


def look(own: Sequence[float], others: Sequence[Sequence[float]]) -> Look:
    """`own`: differences of the trial's pairs so far, at least one; `others`: those of earlier trials, a list for each."""
    from scipy.stats import t  # half a second to import

    middle = fmean(own)
    squares, freedom = 0.0, 0
    for those in (own, *others):
        if len(those) > 1:
            mean = fmean(those)
            squares += sum((each - mean) ** 2 for each in those)
            freedom += len(those) - 1
    if freedom < LEAST_FREEDOM:
        return Look(middle, None, None)
    error = sqrt((squares / freedom + RESOLUTION**2) / len(own))
    margin = float(t.ppf(1 - LEVEL / MOST_PAIRS / 2, freedom)) * error
    return Look(middle, middle - margin, middle + margin)
