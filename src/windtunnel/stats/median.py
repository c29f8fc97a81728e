"""The interval of a median, from the order of the values alone: it holds whatever the law of the noise.

Values that do not depend on each other lie below their median as a fair coin falls. It needs no numpy and no scipy, whose import is too slow
for the output of one run.
"""

import itertools
from collections.abc import Sequence
from math import comb, exp, lgamma, log, log1p, sqrt
from statistics import NormalDist

LEAST_RUNS = 6
"""With five runs, even the least and the greatest do not enclose the median with 95%."""
LEVEL = 0.95
MOST_EXACT = 1000
"""Values up to which heads are counted; of more, their number is normal."""


def interval(values: Sequence[float], level: float = LEVEL) -> tuple[float | None, float | None]:
    """The interval of the median of so many values as were decided on before, exact up to MOST_EXACT of them; None, None for too few, which are
    less than LEAST_RUNS with 95% and less than 8 with 99%. It is that of the sign test (W. R. Thompson, 1936): the ends are the k-th values from
    either side, with the greatest k of which a fair coin, thrown once a value, shows fewer heads in at most half of what the level leaves."""
    count, tail = len(values), (1 - level) / 2
    if count <= MOST_EXACT:
        k = _most_rare(count, tail)
    else:
        k = int(count / 2 + NormalDist().inv_cdf(tail) * sqrt(count) / 2 + 0.5)
    if not k:
        return None, None
    ordered = sorted(values)
    return float(ordered[k - 1]), float(ordered[-k])


def _most_rare(count: int, tail: float) -> int:
    k, fewer = 0, 1
    while fewer <= tail * 2**count:
        k += 1
        fewer += comb(count, k)
    return k


def interval_at_any_look(values: Sequence[float], level: float = LEVEL) -> tuple[float | None, float | None]:
    """The interval of the median if somebody looks after every value, and may stop at any: with a chance of `level`, it holds at all looks
    together. None, None for fewer values than `least_at_any_look`.

    The ends are the k-th values from either side; k counts the numbers of heads that are 1 / (1 - level) times as likely with a coin of any
    bias, all of them alike before the first throw, as with a fair one. A fair coin shows such a number at some time with a chance of at most
    1 - level (H. Robbins, "Statistical methods related to the law of the iterated logarithm", 1970).
    """
    count = len(values)
    k = sum(likelihood_at_any_look(heads, count, 0.5) <= 1 - level for heads in range((count + 1) // 2))
    if not k:
        return None, None
    ordered = sorted(values)
    return float(ordered[k - 1]), float(ordered[-k])


def chance_at_any_look(below: int, count: int) -> float:
    """The greatest chance that, at any look, a fair coin shows numbers of heads and tails that are as far apart as `below` of `count`."""
    return min(1.0, likelihood_at_any_look(below, count, 0.5))


def least_at_any_look(level: float = LEVEL) -> int:
    """Fewest values of an interval at any look."""
    return next(count for count in itertools.count(1) if likelihood_at_any_look(0, count, 0.5) <= 1 - level)


def likelihood_at_any_look(count: int, of: int, share: float) -> float:
    """How many times as likely `count` of `of` are with this share as with any share, all alike before the first case. That is 1 / 100 or less
    at some time with a chance of at most 1%, however often somebody looks, if the share is the true one (H. Robbins, 1970)."""
    choices = lgamma(of + 1) - lgamma(count + 1) - lgamma(of - count + 1)
    return exp(log(of + 1) + choices + count * log(share) + (of - count) * log1p(-share))
