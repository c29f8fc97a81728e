"""Segments of a series whose noise is independent: constant parts, as many as their price allows.

Optimal partitioning (B. Jackson et al., "An algorithm for optimal partitioning of data on an interval", IEEE Signal Processing Letters 12, 2005):
least squares, and a price on every segment as the Bayesian information criterion has it. The noise is taken from second differences, which a
step hardly moves. It is no second `levels`: there neighbours resemble each other, so that a gradual rise from one level to the next is noise,
and no step at all; here a rise is many short segments. Values that stand in the order of a size have such rises, those of time have such noise.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def segments(values: Sequence[float] | NDArray[np.float64], least_noise: float) -> list[tuple[int, int]]:
    """Half-open ranges that cover all values, in their order. `least_noise`: the standard deviation of a value that is always assumed."""
    series = np.asarray(values, float)
    count = len(series)
    bends = np.abs(np.diff(series, 2)) / np.sqrt(6)
    noise = max(least_noise, 1.4826 * float(np.median(bends)) if len(bends) else 0.0)
    price = 2 * np.log(count + 1) * noise**2
    sums, squares = np.concatenate([[0], np.cumsum(series)]), np.concatenate([[0], np.cumsum(series**2)])
    best, begins = np.zeros(count + 1), np.zeros(count + 1, int)
    for end in range(1, count + 1):
        starts = np.arange(end)
        within = squares[end] - squares[starts] - (sums[end] - sums[starts]) ** 2 / (end - starts)
        costs = best[:end] + np.maximum(within, 0) + price
        begins[end] = int(np.argmin(costs))
        best[end] = costs[begins[end]]
    found, end = [], count
    while end:
        found.append((int(begins[end]), end))
        end = int(begins[end])
    return found[::-1]
