"""Intervals, tests and change points: each once, with its source, and with the coverage that `bench/coverage.py` has seen.

Nothing here knows a run, a window or a metric: numbers go in, estimates come out.

mean    the mean of a series whose neighbours resemble each other
shares  shares of counts
"""

from windtunnel.stats.mean import DECIDING, LEAST, SHOWN, Estimate, jackknife, mean_of

__all__ = ["DECIDING", "LEAST", "SHOWN", "Estimate", "jackknife", "mean_of"]
