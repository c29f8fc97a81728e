"""The slope of a line."""

import numpy as np
import pytest

from windtunnel.stats.line import slope_of


def test_a_line_without_noise_has_its_slope_and_no_width():
    found = slope_of([1, 2, 3, 10], [5, 7, 9, 23])
    assert (found.low, found.mean, found.high) == pytest.approx((2, 2, 2))


def test_the_interval_holds_with_few_points():
    """Two standard errors hold in 91% of lines through eight points."""
    random, held = np.random.default_rng(1), 0
    for _ in range(2000):
        x = random.random(8)
        found = slope_of(x, 3 * x + random.normal(0, 1, 8))
        held += found.low <= 3 <= found.high
    assert 0.94 <= held / 2000 <= 0.96
