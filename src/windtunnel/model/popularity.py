"""How often a cache does not have the line that a lookup wants, for keys that are not all wanted equally often.

Che's approximation (Che, Tung and Wang, 2002): a line that is asked for with probability p is in the cache where it was asked for
within the last T accesses, T being the same for all lines and such that as many are in it as it holds; here for a cache
that evicts at random, 1 - 1/(1 + p T) (Fricker, Robert and Roberts, 2012), which is what gives uniform keys the soft step
W/(W + S) that lookups really show: a cache of size S, shared with everything else that the loop touches, holds the share
S/(W + S) of a table of size W.
"""

from functools import lru_cache

import numpy as np
from scipy.optimize import brentq

_EXACT = 1000
"""Ranks that are taken one by one; those behind them in groups of about equal probability."""
_GROUPS_A_DECADE = 60


def misses(entries: float, capacity: float, exponent: float) -> float:
    """Share of lookups that miss a cache of `capacity` entries, of a table of `entries` whose keys are drawn by Zipf's law with
    this exponent; 0 is uniform."""
    if exponent == 0:
        return entries / (entries + capacity)
    ranks, probability = ranks_of(round(entries), exponent)
    held = entries * capacity / (entries + capacity)
    age = _age(ranks, probability, held)
    return float(np.sum(ranks * probability / (1 + probability * age)))


def shared_misses(entries: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """Of several tables that share a cache, each looked up once a packet with uniform keys: the share of each one's lookups that miss.

    `capacity`: entries of each table that the cache would hold were it that table's alone. Lines of all tables are asked for in
    the same loop, so that T is one; sizes count in bytes through the capacities.
    """
    sizes = entries / capacity
    held = sizes.sum() / (1 + sizes.sum())

    def spare(log_age: float) -> float:
        age = np.exp(log_age)
        return float(np.sum(sizes * age / (sizes + age))) - held

    age = np.exp(brentq(spare, -60.0, 60.0))
    return sizes / (sizes + age)


@lru_cache(maxsize=256)
def ranks_of(entries: int, exponent: float) -> tuple[np.ndarray, np.ndarray]:
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


def _integral(edges: np.ndarray, exponent: float) -> np.ndarray:
    """Of x to the power of minus `exponent` between neighbouring edges."""
    if abs(exponent - 1) < 1e-9:
        return np.diff(np.log(edges))
    return np.diff(edges ** (1 - exponent)) / (1 - exponent)


def _age(ranks: np.ndarray, probability: np.ndarray, held: float) -> float:
    """T: so many lines are in the cache as it holds."""

    def spare(log_age: float) -> float:
        hot = probability * np.exp(log_age)
        return float(np.sum(ranks * hot / (1 + hot))) - held

    return float(np.exp(brentq(spare, -30.0, 120.0)))
