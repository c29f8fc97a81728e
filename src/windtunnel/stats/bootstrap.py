"""Intervals by resampling: what is estimated from values that are drawn again scatters about as the estimate does.

The interval is the middle part of such draws (B. Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics 7, 1979, and
"Nonparametric standard errors and confidence intervals", Canadian J. Statistics 9, 1981). It is for estimates whose law nobody knows: medians
of blocks, and parameters of curves. Blocks are drawn whole, so that what their values have in common stays in common. The same values have
the same interval, because the draws have seeds.
"""

from collections.abc import Iterator, Sequence
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray

from windtunnel.stats.mean import SHOWN

LEAST_BLOCKS = 8
"""With fewer, resampling them says little."""
OF_BLOCKS, OF_CURVES = 2000, 200
"""Draws. A curve is fitted to each, which takes a millisecond."""
MOST_AT_ONCE = 1 << 22
"""Values of draws that are in memory together: a run may have millions of blocks."""

Floats = NDArray[np.float64]


def middle_part(draws: Sequence[float] | Floats, level: float = SHOWN) -> tuple[Floats, Floats]:
    """The ends between which this share of the draws lies; of each column if they have columns."""
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(np.asarray(draws, float), [tail, 100 - tail], axis=0)
    return low, high


def medians(blocks: Floats) -> Floats:
    """The median of each column over the blocks, which are the last axis but one; nan for a column without a number."""
    with catch_warnings():
        simplefilter("ignore")  # numpy warns of such a column
        return np.asarray(np.nanmedian(blocks, axis=-2))


def medians_again(blocks: Floats) -> Floats | None:
    """The medians of blocks that are drawn again, a draw per row. `blocks`: a row per block, nan where there is no value. None: there are too
    few blocks, or a column has no number."""
    if len(blocks) < LEAST_BLOCKS or np.isnan(blocks).all(axis=0).any():
        return None
    rng, at_once = np.random.default_rng(1), max(MOST_AT_ONCE // blocks.size, 1)
    counts = [min(at_once, OF_BLOCKS - first) for first in range(0, OF_BLOCKS, at_once)]
    found = np.vstack([medians(blocks[rng.integers(0, len(blocks), (count, len(blocks)))]) for count in counts])
    return found[~np.isnan(found).any(axis=1)]


def measured_again(
    fitted: Floats, values: Floats, repeats: Sequence[Floats], parameters: int, seed: int
) -> Iterator[Floats]:
    """OF_CURVES series as they might have been measured if the fitted curve were the true one.

    `repeats`: of each value those that it is the median of. A value is drawn as the fitted one, times the ratio of a median of redrawn repeats
    to theirs, times a relative residual, which is widened for the parameters that were fitted to the values.
    """
    rng = np.random.default_rng(seed)
    residuals = values / fitted - 1
    free = max(len(values) - parameters, 1)
    residuals = (residuals - residuals.mean()) * np.sqrt(len(values) / free)
    for _ in range(OF_CURVES):
        ratios = np.array([np.median(rng.choice(of, len(of))) / np.median(of) for of in repeats])
        yield fitted * ratios * (1 + rng.choice(residuals, len(values)))
