"""Intervals by resampling."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.stats import bootstrap
from windtunnel.stats.bootstrap import (
    LEAST_BLOCKS,
    OF_BLOCKS,
    OF_CURVES,
    measured_again,
    medians,
    medians_again,
    middle_part,
)


@given(st.lists(st.floats(-1e6, 1e6), min_size=41, max_size=41), st.sampled_from([0.9, 0.95]))
def test_the_middle_part_leaves_out_as_much_on_either_side(draws, level):
    """Of 41 values, a tail of 2.5% is one step from the least, and one of 5% two."""
    ordered, steps = sorted(draws), 1 if level == 0.95 else 2
    low, high = middle_part(draws, level)
    assert (low, high) == pytest.approx((ordered[steps], ordered[-1 - steps]), abs=1e-6)


def test_each_column_has_its_own_middle_part():
    draws = np.arange(82.0).reshape(41, 2)
    low, high = middle_part(draws)
    assert low == pytest.approx([2, 3]) and high == pytest.approx([78, 79])


def test_medians_are_of_the_blocks_that_have_a_value():
    blocks = np.array([[1.0, np.nan, 5.0], [3.0, np.nan, np.nan], [8.0, np.nan, 7.0]])
    assert medians(blocks) == pytest.approx([3, np.nan, 6], nan_ok=True)


def test_blocks_are_drawn_whole():
    """What a block has in common cancels in each draw."""
    common = np.random.default_rng(1).normal(0, 100, 20)
    found = medians_again(np.column_stack([common, common + 1]))
    assert found.shape == (OF_BLOCKS, 2) and np.ptp(found[:, 0]) > 10
    assert found[:, 1] - found[:, 0] == pytest.approx(np.ones(OF_BLOCKS))


def test_too_few_blocks_or_a_column_without_a_number_have_no_draws():
    blocks = np.ones((LEAST_BLOCKS, 2))
    assert medians_again(blocks[1:]) is None
    blocks[:, 1] = np.nan
    assert medians_again(blocks) is None


def test_the_same_values_have_the_same_draws():
    blocks = np.random.default_rng(2).normal(0, 1, (12, 3))
    assert (medians_again(blocks) == medians_again(blocks)).all()


def test_what_a_curve_fits_exactly_is_measured_again_as_its_repeats_scatter():
    fitted = np.array([10.0, 20.0, 40.0])
    repeats = [np.array([0.9, 1.0, 1.1]) * value for value in fitted]
    drawn = np.array(list(measured_again(fitted, fitted, repeats, 1, seed=1)))
    assert drawn.shape == (OF_CURVES, 3)
    assert set(np.round(drawn / fitted, 9).ravel()) == {0.9, 1.0, 1.1}


def test_residuals_are_widened_for_what_was_fitted():
    """Two of four values are parameters: the variance of the residuals is half of the noise's."""
    fitted = np.full(4, 100.0)
    values = np.array([99.0, 101.0, 101.0, 99.0])
    drawn = np.array(list(measured_again(fitted, values, values[:, None], 2, seed=1)))
    assert set(np.round(drawn.ravel(), 6)) == {round(100 - 2**0.5, 6), round(100 + 2**0.5, 6)}


def test_medians_of_many_blocks_are_drawn_part_by_part(monkeypatch):
    """All draws of the windows of a long run do not fit into memory; the draws are the same."""
    blocks = np.random.default_rng(5).normal(100, 3, (40, 3))
    whole = medians_again(blocks)
    monkeypatch.setattr(bootstrap, "MOST_AT_ONCE", 7 * blocks.size + 1)
    drawn = []
    monkeypatch.setattr(bootstrap, "medians", lambda some: drawn.append(len(some)) or medians(some))
    assert (medians_again(blocks) == whole).all() and max(drawn) == 7
