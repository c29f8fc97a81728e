"""Shares of counts, exactly."""

from windtunnel.stats.mean import SHOWN, Estimate


def share_of(count: int, of: int, level: float = SHOWN) -> Estimate:
    """`count` of `of`, at least one, and the interval of the share (C. J. Clopper and E. S. Pearson, 1934)."""
    from scipy.stats import binomtest  # a second to import

    interval = binomtest(count, of).proportion_ci(level)
    return Estimate(count / of, float(interval.low), float(interval.high))


def shares_differ(a: int, of_a: int, b: int, of_b: int) -> float:
    """The chance of two shares as different as `a` of `of_a` and `b` of `of_b` if there is no difference, two-sided (R. A. Fisher, 1922)."""
    import numpy as np
    from scipy.stats import fisher_exact  # a second to import

    return float(fisher_exact(np.array([[a, of_a - a], [b, of_b - b]])).pvalue)
