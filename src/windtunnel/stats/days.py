"""What a run on another day will show.

Runs of one day resemble each other more than runs of two: ten of one day hold the long-run value in a quarter of the cases if days differ by
three times as much as runs do. So the days are the sample, and what is predicted is a single run on a day that is not among them (G. J. Hahn
and W. Q. Meeker, "Statistical Intervals", 4.7, with the variance of a nested classification).
"""

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, harmonic_mean, variance

from windtunnel.stats.mean import SHOWN, Estimate
from windtunnel.stats.students_t import quantile

LEAST_DAYS = 3
"""Two days tell too little of how days differ."""


def another_day(days: Sequence[Sequence[float]], level: float = SHOWN) -> Estimate | None:
    """The mean over days, at least one run each, and the interval in which a run on another day lies with this chance. None: too few days."""
    if len(days) < LEAST_DAYS:
        return None
    means, count = [fmean(day) for day in days], sum(map(len, days))
    within_freedom = count - len(days)
    squares = sum((value - mean) ** 2 for day, mean in zip(days, means, strict=True) for value in day)
    of_runs = squares / within_freedom * (1 - 1 / harmonic_mean([len(day) for day in days])) if within_freedom else 0.0
    of_days = variance(means) * (1 + 1 / len(days))
    whole = of_days + of_runs
    middle = fmean(means)
    if whole == 0:
        return Estimate(middle, middle, middle)
    # fewer degrees of freedom than Satterthwaite's: with three days those hold in 91% only
    margin = quantile((1 + level) / 2, len(days) - 1) * sqrt(whole)
    return Estimate(middle, middle - margin, middle + margin)
