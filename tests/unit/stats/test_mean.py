"""The mean of a dependent series: its interval holds about as often as it says, whatever the correlation."""

from math import isfinite

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from simulated import ar1

from windtunnel.stats.mean import DECIDING, LEAST, MOST_GROUPS, jackknife, mean_of, neighbours

SERIES = 400


def share_that_holds(windows, correlation, level=0.95):
    random = np.random.default_rng(windows)
    intervals = [mean_of(ar1(random, windows, correlation), level) for _ in range(SERIES)]
    return sum(each.low <= 0 <= each.high for each in intervals) / SERIES


@pytest.mark.parametrize("windows", [12, 40, 80])
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
def test_the_interval_holds_as_often_as_it_says(windows, correlation):
    assert 0.89 <= share_that_holds(windows, correlation) <= 0.995


def test_the_level_that_decides_holds_more_often():
    assert share_that_holds(20, 0.5, DECIDING) >= 0.98


def test_independent_values_cost_little():
    values = np.random.default_rng(1).normal(10, 1, 80)
    found = mean_of(values)
    usual = 1.99 * values.std(ddof=1) / np.sqrt(80)
    assert usual < found.high - found.mean < 1.5 * usual


def test_dependent_values_whose_neighbours_have_noise_of_their_own_are_held_too():
    """AR(1) alone sees a small correlation, and holds in 70-80%."""
    random, holds = np.random.default_rng(7), 0
    for _ in range(SERIES):
        found = mean_of(ar1(random, 60, 0.8) + random.normal(0, 1, 60))
        holds += found.low <= 0 <= found.high
    assert holds >= 0.89 * SERIES


def test_a_long_series_is_that_of_its_groups():
    values = ar1(np.random.default_rng(3), 800, 0.5)
    found, grouped = mean_of(values), mean_of(values.reshape(80, 10).mean(axis=1))
    assert (found.low, found.high) == pytest.approx((grouped.low, grouped.high))


@examples(50)
@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=40), st.sampled_from([0.9, 0.95, DECIDING]))
def test_an_interval_lies_around_the_mean_of_any_series(values, level):
    found = mean_of(values, level)
    assert found.mean == pytest.approx(np.mean(values))
    assert (found.low is None) == (len(values) < LEAST)
    if found.low is not None:
        assert isfinite(found.low) and found.low <= found.mean <= found.high


@examples(25)
@given(st.lists(st.integers(0, 1000), min_size=LEAST, max_size=20), st.integers(1, 1000), st.integers(-1000, 1000))
def test_an_interval_has_the_unit_of_its_values(values, times, more):
    found, other = mean_of(values), mean_of([times * each + more for each in values])
    assert other.high - other.mean == pytest.approx(times * (found.high - found.mean), rel=1e-6, abs=1e-6)


def test_half_a_width_is_a_share_of_a_positive_mean():
    assert 0 < mean_of([1.0, 1.1, 0.9, 1.0, 1.0]).half_width < 1
    assert mean_of([1.0] * 8).half_width == 0
    assert mean_of([1.0, 1.1, 0.9, 1.0]).half_width is None, "too few"
    assert mean_of([0.0] * 8).half_width is None


def average(values):
    return sum(values) / len(values) if values else None


def test_the_jackknife_of_a_mean_is_its_interval():
    values = [3.0, 5.0, 4.0, 6.0, 2.0, 4.0, 5.0, 3.0, 4.0, 4.0, 6.0, 2.0]
    found = jackknife(values, average)
    assert found.mean == 4.0
    assert (found.low, found.high) == pytest.approx((mean_of(values).low, mean_of(values).high))


def test_the_jackknife_of_a_ratio_holds():
    random, holds = np.random.default_rng(5), 0
    for _ in range(SERIES):
        messages = 100 + 10 * ar1(random, 40, 0.5)
        ticks = 7 * messages + 30 * ar1(random, 40, 0.5)
        found = jackknife(
            list(zip(ticks, messages, strict=True)), lambda some: sum(t for t, _ in some) / sum(m for _, m in some)
        )
        holds += found.low <= 7 <= found.high
    assert 0.91 <= holds / SERIES <= 0.99


@given(st.lists(st.integers(1, 1000), max_size=200))
def test_parts_that_were_summed_beforehand_have_the_same_interval(messages):
    """A ratio of sums, whose denominators differ."""
    parts = [np.array([n % 7, n]) for n in messages]

    def share(some):
        objects, total = sum(some)
        return objects / total

    summed = [sum(group) for group in neighbours(parts)]
    if parts:
        assert jackknife(summed, share) == jackknife(parts, share)
    assert len(summed) == min(len(parts), MOST_GROUPS)


def test_too_few_parts_have_no_interval_and_none_no_value():
    assert jackknife([1.0, 2.0], average).low is None
    assert jackknife([], average) is None
    found = jackknife([1.0] * 6, lambda some: 1.0 if len(some) == 6 else None)
    assert found.mean == 1.0 and found.low is None, "it needs every part"
