"""Shares of counts, exactly."""

from math import comb

from windtunnel.stats.mean import SHOWN, Estimate


def share_of(count: int, of: int, level: float = SHOWN) -> Estimate:
    """`count` of `of`, at least one, and the interval of the share (C. J. Clopper and E. S. Pearson, 1934)."""
    from scipy.special import betaincinv  # a third of a second to import

    tail = (1 - level) / 2
    low = float(betaincinv(count, of - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, of - count, 1 - tail)) if count < of else 1.0
    return Estimate(count / of, low, high)


def shares_differ(a: int, of_a: int, b: int, of_b: int) -> float:
    """The chance of two shares as different as `a` of `of_a` and `b` of `of_b` if there is no difference, two-sided (R. A. Fisher, 1922)."""
    both = a + b
    ways = [comb(of_a, n) * comb(of_b, both - n) for n in range(max(both - of_b, 0), min(both, of_a) + 1)]
    observed = comb(of_a, a) * comb(of_b, b)
    return sum(count for count in ways if count <= observed) / comb(of_a + of_b, both)
