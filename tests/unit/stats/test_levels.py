"""Steps and trends in a series of windows."""

from math import isfinite

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.stats import levels

LIMIT = 0.1


def noisy(windows: int, deviation: float, autocorrelation: float = 0.0, seed: int = 1) -> np.ndarray:
    """A series of mean 1 with AR(1) noise."""
    random = np.random.default_rng(seed)
    steps = random.normal(0, deviation * np.sqrt(1 - autocorrelation**2), windows)
    noise = [random.normal(0, deviation)]
    for step in steps[1:]:
        noise.append(autocorrelation * noise[-1] + step)
    return 1 + np.asarray(noise)


def starts(values, limit=LIMIT):
    return [level.start for level in levels.course(values, limit).levels]


@pytest.mark.parametrize("at", range(1, 12))
@pytest.mark.parametrize("factor", [0.55, 0.8, 1.25])
def test_a_step_is_found_before_whichever_window_it_stands(at, factor):
    values = noisy(12, 0.01)
    values[at:] *= factor
    found = levels.course(values, LIMIT)
    assert [level.start for level in found.levels] == [0, at]
    assert found.last.mean == pytest.approx(factor, rel=0.02)


def test_noise_that_the_host_correlates_raises_at_most_one_false_alarm_in_twenty():
    alarms = 0
    for seed in range(200):
        found = levels.course(noisy(12, 0.1, 0.9, seed), LIMIT)
        alarms += len(found.levels) > 1 or found.trend != 0
    assert alarms <= 0.05 * 200


def test_a_single_slow_window_is_no_step():
    values = noisy(20, 0.01)
    values[9] *= 0.5
    assert starts(values) == [0]


def test_two_steps_are_two():
    values = noisy(30, 0.01)
    values[10:] *= 0.7
    values[20:] *= 1.5
    assert starts(values) == [0, 10, 20]


def test_a_step_within_the_limit_does_not_count():
    values = noisy(20, 0.001)
    values[10:] *= 0.95
    assert starts(values) == [0]
    assert starts(values, limit=0.03) == [0, 10]


def test_a_trend_has_its_size_and_sign():
    values = noisy(20, 0.005) * np.linspace(0.87, 1.13, 20)
    assert levels.course(values, LIMIT).trend == pytest.approx(0.26, abs=0.03)
    assert levels.course(values[::-1], LIMIT).trend == pytest.approx(-0.26, abs=0.03)
    assert starts(values) == [0]


def test_a_series_without_noise_is_of_one_level():
    assert levels.course([5.0] * 12, LIMIT) == levels.Course([levels.Level(0, 5.0)], 0.0, 0.0, 12)


@given(
    st.lists(st.floats(min_value=0, max_value=1e9), min_size=1, max_size=60),
    st.floats(min_value=0, max_value=1),
)
def test_levels_cover_any_series_in_order(values, limit):
    found = levels.course(values, limit)
    begins = [level.start for level in found.levels]
    assert begins[0] == 0 and begins == sorted(set(begins)) and begins[-1] < len(values)
    assert isfinite(found.trend) and all(isfinite(level.mean) for level in found.levels)
    assert found.windows_of_last == len(values) - begins[-1]
