"""Many differences at once: each may be compared with the level as if it were the only one.

Metrics of the same pairs go up and down together. So the distribution of the greatest of all statistics comes from the pairs themselves: had
A and B been the same, all differences of a pair would have had their signs the other way round with the same chance (P. H. Westfall and
S. S. Young, "Resampling-Based Multiple Testing", 1993, with Student's t). Eight pairs can show a difference at 1%, whatever the number of
metrics; Holm's correction of 16 metrics needs twelve.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from windtunnel.stats.differences import RESOLUTION

MOST_EXACT = 12
"""Pairs of which all combinations of signs are tried: 4,096."""
DRAWS = 9_999
LEAST_PAIRS = 8
"""With fewer, no combination of signs is rarer than 1%."""

Differences = NDArray[np.float64]
"""[pair, metric]: natural logarithms of the ratios of B to A."""


def greatest_of_all(groups: Sequence[Differences]) -> list[list[float]]:
    """The p-value of each metric of each group among those of all groups; groups do not depend on each other, as points of a study. Each has
    LEAST_PAIRS pairs or more."""
    flips = _flips(tuple(map(len, groups)))
    greatest = np.max([_statistics(of, group).max(axis=1) for of, group in zip(flips, groups, strict=True)], axis=0)
    # what lies at 0 speaks against a difference
    seen = [
        _statistics(np.ones((1, len(group))), np.where(np.abs(group) > RESOLUTION / 2, group, 0))[0] for group in groups
    ]
    return [[float(np.mean(greatest >= each * (1 - 1e-9))) for each in of] for of in seen]


def _statistics(flips: Differences, group: Differences) -> Differences:
    """Student's t [combination, metric] without its sign."""
    count = len(group)
    shares = np.square(flips @ group) / (count * np.maximum(np.square(group).sum(axis=0), np.finfo(float).tiny))
    shares = np.minimum(shares, 1 - 1e-12)  # no spread at all
    return np.asarray(np.sqrt((count - 1) * shares / (1 - shares)))


@lru_cache(maxsize=1)  # who compares again and again has as many pairs most of the time
def _flips(pairs: tuple[int, ...]) -> list[Differences]:
    """Signs [combination, pair] of each group of so many pairs: all there are of a single small one, else drawn, with the one that was seen."""
    if len(pairs) == 1 and pairs[0] <= MOST_EXACT:
        return [np.array(list(product((1.0, -1.0), repeat=pairs[0])))]
    random = np.random.default_rng(1)
    drawn = [np.where(random.random((DRAWS, count)) < 0.5, -1.0, 1.0) for count in pairs]
    return [np.concatenate([np.ones((1, flips.shape[1])), flips]) for flips in drawn]


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted for their number, whatever they depend on (S. Holm, 1979)."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, highest = [1.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, p_values[i] * (len(p_values) - rank)))
        adjusted[i] = highest
    return adjusted
