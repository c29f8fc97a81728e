"""The slope of a line."""

import pytest

from windtunnel.stats.line import slope_of


def test_a_line_without_noise_has_its_slope_and_no_width():
    found = slope_of([1, 2, 3, 10], [5, 7, 9, 23])
    assert (found.low, found.mean, found.high) == pytest.approx((2, 2, 2))
