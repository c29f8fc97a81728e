"""Shares of counts, compared exactly."""


def shares_differ(a: int, of_a: int, b: int, of_b: int) -> float:
    """The chance of two shares as different as `a` of `of_a` and `b` of `of_b` if there is no difference, two-sided (R. A. Fisher, 1922)."""
    import numpy as np
    from scipy.stats import fisher_exact  # a second to import

    return float(fisher_exact(np.array([[a, of_a - a], [b, of_b - b]])).pvalue)
