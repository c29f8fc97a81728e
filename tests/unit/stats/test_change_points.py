"""Change points of series that are drawn from a seed: found where there is a step, and hardly ever where there is none."""

import numpy as np
import pytest

from windtunnel.stats import levels
from windtunnel.stats.levels import LEAST_RUNS, change_points, detectable, size_of

SEEDS = range(60)


def series(seed: int, runs: int = 30, correlation: float = 0.0, step: float = 0.0, at: int = 15) -> list[float]:
    """With 2% of noise, each value like the one before it by `correlation`."""
    noise = np.random.default_rng(seed).standard_normal(runs)
    for n in range(1, runs):
        noise[n] = correlation * noise[n - 1] + np.sqrt(1 - correlation**2) * noise[n]
    values = 1e6 * np.exp(0.02 * noise)
    values[at:] *= 1 + step
    return [float(value) for value in values]


def test_a_step_of_5_percent_in_2_percent_of_noise_is_found():
    found = [change_points(series(seed, step=-0.05)) for seed in SEEDS]
    assert sum(any(abs(place - 15) <= 2 for place in places) for places in found) >= 0.75 * len(SEEDS)


@pytest.mark.parametrize(("correlation", "most"), [(0.0, 0.02), (0.3, 0.05), (0.5, 0.2)])
def test_a_flat_series_has_no_change_point_though_its_runs_resemble_their_neighbours(correlation, most):
    false = [seed for seed in SEEDS if change_points(series(seed, correlation=correlation))]
    assert len(false) <= most * len(SEEDS)


def test_two_steps_are_two_change_points():
    values = series(1, 60, step=-0.2, at=20)
    values[40:] = [value * 1.25 for value in values[40:]]
    assert change_points(values) == [20, 40]


def test_too_few_runs_have_none_nor_have_equal_values():
    assert change_points([1e6] * 5 + [2e6] * (LEAST_RUNS - 6)) == []
    assert change_points([1e6] * 6 + [2e6] * (LEAST_RUNS - 6)) == [6]
    assert change_points([1e6] * 40) == []
    assert 0 < detectable([1e6] * 40) < 0.01


def test_a_step_is_no_noise():
    flat, stepped = (detectable(series(3, 40, step=step, at=20)) for step in (0.0, 1.0))
    assert stepped == pytest.approx(flat, rel=0.3)


@pytest.mark.parametrize(("correlation", "most"), [(0.0, 4), (0.3, 8), (0.5, 13)])
def test_asked_after_each_run_a_flat_series_rarely_shows_a_change(correlation, most):
    """Of 40 series of 60 runs. Asked so, 4, 22 and 42% showed one."""
    told = 0
    for seed in range(40):
        values = series(seed, 60, correlation)
        told += any(change_points(values[:count]) for count in range(LEAST_RUNS, 61, 4))
    assert told <= most


def test_many_metrics_show_less_each():
    values = [value**3 for value in series(4, 60, step=-0.03, at=30)]
    assert [len(change_points(values, metrics)) for metrics in (1, 100_000)] == [1, 0]


def test_the_size_is_of_later_runs_than_those_that_showed_the_step():
    """A step of -3%: shown at once it is too large, and later runs tell what it is."""
    sizes = {True: [], False: []}
    for seed in range(40):
        for count in range(20, 61, 5):
            values = series(seed, count, step=-0.03, at=15)
            for at in change_points(values)[:1]:
                found, later = size_of(values, at, count)
                sizes[later].append(found.mean)
                assert found.low <= found.mean <= found.high
    true = np.log(0.97)
    assert np.mean(sizes[False]) < 1.1 * true
    assert np.mean(sizes[True]) == pytest.approx(true, rel=0.15)


def test_a_step_that_shows_soon_is_measured_by_later_runs():
    values = series(1, 60, step=-0.1, at=20)
    assert change_points(values) == [20]
    estimate, later = size_of(values, 20, 60)
    assert later and estimate.mean == pytest.approx(np.log(0.9), rel=0.1)


def test_more_noise_makes_only_larger_steps_detectable():
    calm, noisy = series(1), [value**2 for value in series(1)]
    assert detectable(noisy) > 1.8 * detectable(calm) > 0.05


def test_the_size_of_a_change_that_shows_late_takes_few_looks(monkeypatch):
    """A step of half a deviation, which hundreds of runs show: a look after each of them would take minutes."""
    random = np.random.default_rng(1)
    values = np.exp(0.01 * random.standard_normal(3000) + 0.002 * (np.arange(3000) >= 100)).tolist()
    looks = []

    def counting(seen, metrics=1):
        looks.append(len(seen))
        return change_points(seen, metrics)

    monkeypatch.setattr(levels, "change_points", counting)
    estimate, _ = size_of(values, 100, 3000)
    assert 50 < len(looks) < 200 and looks == sorted(looks)
    assert estimate.low is not None and estimate.low < 0.002 < estimate.high
