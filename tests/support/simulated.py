"""Series of which the truth is known."""

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

BEFORE = 60
"""Values that a series has behind it when it begins."""


def ar1(random: np.random.Generator, count: int, correlation: float, deviation: float = 1.0) -> NDArray[np.float64]:
    """AR(1) noise around 0 with this standard deviation and this correlation between neighbours."""
    steps = random.normal(0, deviation * np.sqrt(1 - correlation**2), count + BEFORE)
    series: NDArray[np.float64] = lfilter([1], [1, -correlation], steps)[BEFORE:]
    return series
