"""Intervals of a median."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from windtunnel.stats.median import (
    LEAST_RUNS,
    chance_at_any_look,
    interval,
    interval_at_any_look,
    least_at_any_look,
)


@given(st.lists(st.floats(1.0, 1e9), max_size=30), st.sampled_from([0.95, 0.99]))
def test_the_interval_is_that_of_the_sign_test(values, level):
    """The k-th value from either end, with the greatest k that a fair coin falls short of in at most half of what the level leaves."""
    below = next((k for k in range(len(values)) if binom.cdf(k, len(values), 0.5) > (1 - level) / 2), 0)
    ordered = sorted(values)
    assert interval(values, level) == ((ordered[below - 1], ordered[-below]) if below else (None, None))


def test_fewest_values_of_an_interval():
    assert interval([1.0] * LEAST_RUNS) == (1.0, 1.0) and interval([1.0] * (LEAST_RUNS - 1)) == (None, None)
    assert interval([1.0] * 8, 0.99) == (1.0, 1.0) and interval([1.0] * 7, 0.99) == (None, None)


def test_the_interval_holds_the_median_in_95_of_100():
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(600):
        low, high = interval(rng.standard_t(2.5, 12))
        held += low <= 0 <= high
    assert 0.94 <= held / 600 <= 0.99  # exactly 0.961; three standard errors are 0.024


def left_out_at_some_look(values, of) -> bool:
    """Whether the interval of the median leaves it out, 0, after any of the values."""
    intervals = [of(values[:count]) for count in range(1, len(values) + 1)]
    return any(low is not None and not low <= 0 <= high for low, high in intervals)


def test_the_interval_of_all_looks_holds_wherever_somebody_stops():
    """The interval of a number of values that was fixed before leaves the median out at some look in one of ten."""
    rng = np.random.default_rng(3)
    series = [rng.standard_t(2.5, 30) for _ in range(600)]
    assert np.mean([left_out_at_some_look(values, interval_at_any_look) for values in series]) <= 0.05
    assert np.mean([left_out_at_some_look(values, interval) for values in series]) > 0.08


@pytest.mark.parametrize(
    ("count", "place"), [(least_at_any_look() - 1, 0), (least_at_any_look(), 1), (12, 2), (30, 7), (100, 35)]
)
def test_the_interval_of_all_looks_is_wider(count, place):
    values = [float(n) for n in range(1, count + 1)]
    assert interval_at_any_look(values) == ((place, count + 1 - place) if place else (None, None))


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40, unique=True), st.sampled_from([0.95, 0.99, 0.999]))
def test_the_interval_of_all_looks_leaves_out_what_is_as_unlikely(values, level):
    """What lies outside is what a fair coin shows with a chance of at most 1 - level, at any look."""
    low, high = interval_at_any_look(values, level)
    assert (low is None) is (len(values) < least_at_any_look(level))
    for median in [value + step for value in values for step in (-1e-9, 1e-9)] if low is not None else ():
        below = sum(value < median for value in values)
        outside = median < low or median > high
        assert outside is (chance_at_any_look(min(below, len(values) - below), len(values)) <= 1 - level)


@pytest.mark.parametrize("count", [900, 1000, 1001, 1100, 50_000])
def test_many_values_have_the_interval_of_their_number(count):
    """Of a run with thousands of windows."""
    low, high = interval([float(n) for n in range(1, count + 1)])
    below = next(k for k in range(count) if binom.cdf(k, count, 0.5) > 0.025)
    assert abs(low - below) <= (count > 1000) and high == count + 1 - low
    if count < 2000:
        assert interval_at_any_look([float(n) for n in range(count)])[0] < low


@pytest.mark.parametrize(("level", "least"), [(0.95, 8), (0.99, 11), (0.999, 14)])
def test_fewest_values_of_an_interval_at_any_look(level, least):
    assert least_at_any_look(level) == least
