"""A percentile over windows, and its interval.

What a window counted is one sample, not each message: messages of a window wait in the same queue. The share of messages beyond the
percentile is a ratio over dependent windows; its interval, read off the merged distribution, is that of the percentile (R. S. Woodruff,
"Confidence intervals for medians and other position measures", JASA 47, 1952). A message without a response lies beyond any value.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windtunnel.stats.mean import SHOWN, mean_of
from windtunnel.stats.samples import enough

LEAST_BEYOND = 10
"""Fewest windows that have something beyond the percentile: with fewer, some rare moments decide."""

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Quantile:
    """Positions of values."""

    at: int | None
    """None: as many messages have no response, or too few lie beyond it."""
    low: int | None = None
    high: int | None = None
    """None with `low`: beyond any value. Both None: there is no interval."""


def quantile_of(counts: Counts, missing: Counts, share: float, level: float = SHOWN) -> Quantile:
    """`counts`: how often each window (row, in the order of time) had each value (column, ascending); `missing`: messages of each window
    without a value. `share`: 0.99 for p99."""
    cumulated, total = np.cumsum(counts.sum(axis=0)), int(counts.sum() + missing.sum())
    if not enough(total, share):
        return Quantile(None)
    at = _position(cumulated, share * total)
    if at is None:
        return Quantile(None)
    of_window = counts.sum(axis=1) + missing
    beyond = counts[:, at + 1 :].sum(axis=1) + missing
    if np.count_nonzero(beyond) < LEAST_BEYOND:
        return Quantile(at)
    excess = (beyond - beyond.sum() / total * of_window) / of_window.mean()
    margin = mean_of(excess, level).high
    if margin is None:
        return Quantile(at)
    low, high = (_position(cumulated, (share + sign * margin) * total) for sign in (-1, 1))
    return Quantile(at, low, high)


def _position(cumulated: Counts, wanted: float) -> int | None:
    """The first value at or below which so many lie; None if there are not as many."""
    rank = max(1, int(np.floor(wanted + 0.5)))
    return int(np.searchsorted(cumulated, rank)) if rank <= cumulated[-1] else None
