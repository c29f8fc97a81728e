"""Steady state: the end of the warm-up as the data show it, and drift afterwards.

The transient at the beginning is cut where the standard error of what is left is least (MSER: K. P. White, "An effective
truncation heuristic for bias reduction in simulation output", Simulation 69(6), 1997). A drift is a trend that the
Mann-Kendall test finds (Kendall's tau against time) and whose size, by the Theil-Sen slope, is beyond the limit.
"""

from collections.abc import Sequence

import numpy as np

LEAST_WINDOWS = 8
"""With 7 windows even a perfect order is too likely by chance to show a trend."""
SIGNIFICANCE = 1e-3
"""Of a trend. The windows of one run are not independent (a host is slow for seconds), so that the usual 5% would raise false alarms."""
OUTLYING = 4.0
"""Robust standard deviations by which a transient differs from what follows."""


def transient(values: Sequence[float], limit: float) -> int:
    """How many of the first windows belong to the warm-up still; at most half of them.

    0 where the cut that is best by MSER takes off nothing that differs by more than `limit` (a share) and stands out.
    """
    series = np.asarray(values, dtype=float)
    if len(series) < LEAST_WINDOWS:
        return 0
    cuts = range(len(series) // 2 + 1)
    best = min(cuts, key=lambda cut: series[cut:].var() / (len(series) - cut))
    head, rest = series[:best], series[best:]
    middle = np.median(rest)
    if best == 0 or middle <= 0:
        return 0
    spread = 1.4826 * np.median(np.abs(rest - middle))  # the standard deviation, where it is a normal one
    off = abs(np.median(head) - middle)
    return best if off > limit * middle and off > OUTLYING * spread else 0


def drift(values: Sequence[float]) -> float | None:
    """The change from the first window to the last as a share of the median, where it is a trend; 0 where there is none;
    None where there are too few windows to tell."""
    series = np.asarray(values, dtype=float)
    if len(series) < LEAST_WINDOWS:
        return None
    middle = np.median(series)
    if middle <= 0 or np.ptp(series) == 0:
        return 0.0
    # half a second to import, so it is not imported before a run
    from scipy.stats import kendalltau, theilslopes

    time = np.arange(len(series))
    if kendalltau(time, series).pvalue > SIGNIFICANCE:
        return 0.0
    return float(theilslopes(series, time).slope * (len(series) - 1) / middle)
