"""Intervals of one parameter by its profile."""

import numpy as np
import pytest
from scipy.stats import t

from windtunnel.stats.profile import profile_interval


@pytest.mark.parametrize("level", [0.95, 0.99])
def test_of_a_mean_it_is_the_interval_of_student(level):
    values = np.random.default_rng(1).normal(5, 1, 12)
    means = np.sort(np.append(np.linspace(0, 10, 100_001), values.mean()))
    squares = np.square(values[:, None] - means).sum(axis=0)
    margin = t.ppf((1 + level) / 2, 11) * values.std(ddof=1) / np.sqrt(12)
    low, high = profile_interval(means, squares, 11, level)
    assert (low, high) == pytest.approx((values.mean() - margin, values.mean() + margin), abs=2e-4)


def test_what_is_not_bounded_has_no_upper_end():
    values = np.linspace(1, 100, 100)
    assert profile_interval(values, 1 + 1 / values**2, 10) == (2, None)
