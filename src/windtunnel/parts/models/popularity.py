"""How often a lookup misses a cache, for keys of unequal popularity.

Che's approximation (Che, Tung and Wang, 2002): a line that is accessed with probability p is in the cache if it was accessed
within the last T accesses. T is the same for all lines, and such that the cache is full. Here the cache evicts at random:
1 - 1/(1 + p T) (Fricker, Robert and Roberts, 2012). This gives uniform keys the soft step W/(W + S) that lookups show: a
cache of size S, shared with everything else that the loop touches, holds the share S/(W + S) of a table of size W.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq

from windtunnel.parts.models.arrays import Floats

_EXACT = 1000
"""Ranks that are computed one by one; further ones in groups of about equal probability."""
_GROUPS_A_DECADE = 60


def misses(entries: float, capacity: float, exponent: float) -> float:
    """Share of lookups that miss a cache of `capacity` entries, of a table of `entries` whose keys are drawn by Zipf's law with
    this exponent; 0 is uniform."""
    if exponent == 0:
        return entries / (entries + capacity)
    ranks, probability = ranks_of(round(entries), exponent)
    cached = entries * capacity / (entries + capacity)
    age = _age(ranks, probability, cached)
    return float(np.sum(ranks * probability / (1 + probability * age)))


def shared_misses(entries: Floats, capacity: Floats) -> Floats:
    """The share of each table's lookups that miss, if several tables share a cache, and each is looked up once a packet with uniform keys.

    `capacity`: entries of each table that the cache would hold if the table were alone. One loop accesses the lines of all tables, so
    there is one T; sizes count in bytes through the capacities.
    """
    sizes = entries / capacity
    cached = float(sizes.sum() / (1 + sizes.sum()))

    def spare(log_age: float) -> float:
        age = np.exp(log_age)
        return float(np.sum(sizes * age / (sizes + age))) - cached

    age = float(np.exp(_root(spare, -60.0, 60.0)))
    shares: Floats = sizes / (sizes + age)
    return shares


@lru_cache(maxsize=256)
def ranks_of(entries: int, exponent: float) -> tuple[Floats, Floats]:
    """How many ranks each group has, and the probability of one of them; together they make 1."""
    first = np.arange(1, min(entries, _EXACT) + 1, dtype=float)
    counts, weights = np.ones_like(first), first**-exponent
    if entries > _EXACT:
        groups = max(2, int(_GROUPS_A_DECADE * np.log10(entries / _EXACT)) + 1)
        edges = np.unique(np.round(np.geomspace(_EXACT + 0.5, entries + 0.5, groups) - 0.5)) + 0.5
        behind = np.diff(edges)
        counts = np.concatenate([counts, behind])
        weights = np.concatenate([weights, _integral(edges, exponent) / behind])
    return counts, weights / np.sum(counts * weights)


def _integral(edges: Floats, exponent: float) -> Floats:
    """The integral of x to the power of minus `exponent` between neighbouring edges."""
    if abs(exponent - 1) < 1e-9:
        return np.diff(np.log(edges))
    return np.diff(edges ** (1 - exponent)) / (1 - exponent)


def _age(ranks: Floats, probability: Floats, cached: float) -> float:
    """The age T with which the cache is full."""

    def spare(log_age: float) -> float:
        hot = probability * np.exp(log_age)
        return float(np.sum(ranks * hot / (1 + hot))) - cached

    return float(np.exp(_root(spare, -30.0, 120.0)))


def _root(spare: Callable[[float], float], low: float, high: float) -> float:
    """Where `spare`, which rises, is 0. One of both ends if it is beyond them: there the cache holds nothing, or all."""
    if spare(low) >= 0:
        return low
    return high if spare(high) <= 0 else float(brentq(spare, low, high))
