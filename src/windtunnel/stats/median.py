"""The interval of a median, from the order of the values alone: it holds whatever the law of the noise.

It is that of the sign test (W. R. Thompson, 1936), and exact for values that do not depend on each other. It needs no numpy and no scipy,
whose import is too slow for the output of one run.
"""

from collections.abc import Sequence
from math import comb

LEAST_RUNS = 6
"""With five runs, even the least and the greatest do not enclose the median with 95%."""
LEVEL = 0.95


def interval(values: Sequence[float]) -> tuple[float | None, float | None]:
    """The exact 95% interval of the median; None, None for fewer than LEAST_RUNS. The ends are the k-th values from either side,
    with the greatest k of which a fair coin, thrown once a value, shows fewer heads in at most 2.5%."""
    count = len(values)
    if count < LEAST_RUNS:
        return None, None
    k, fewer = 0, 1
    while fewer <= (1 - LEVEL) / 2 * 2**count:
        k += 1
        fewer += comb(count, k)
    ordered = sorted(values)
    return float(ordered[k - 1]), float(ordered[-k])
