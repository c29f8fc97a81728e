"""Shares of counts."""

import pytest

from windtunnel.stats.shares import shares_differ


def test_the_lady_tastes_tea():
    """Fisher's own example: three of four cups right, of either kind."""
    assert shares_differ(3, 4, 1, 4) == pytest.approx(34 / 70)
    assert shares_differ(4, 4, 0, 4) == pytest.approx(2 / 70)
    assert shares_differ(2, 7, 2, 7) == 1
