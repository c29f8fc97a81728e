"""Change points of series that are drawn from a seed: found where there is a step, and hardly ever where there is none."""

import numpy as np
import pytest

from windtunnel.measure.history.change_points import LEAST_RUNS, change_points, detectable, noise_of

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
    assert sum(any(abs(place - 15) <= 2 for place in places) for places in found) >= 0.9 * len(SEEDS)


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
    flat, stepped = (noise_of(np.log(series(3, 40, step=step, at=20))) for step in (0.0, 1.0))
    assert stepped.deviation == pytest.approx(0.02, rel=0.3) and stepped.deviation == pytest.approx(flat.deviation, 0.2)
    assert stepped.correlation < 0.3


def test_noise_that_persists_is_told_from_noise_that_does_not():
    means = [
        np.mean([noise_of(np.log(series(seed, 60, correlation))).correlation for seed in SEEDS])
        for correlation in (0.0, 0.3, 0.6)
    ]
    assert means[0] < 0.12 < means[1] < means[2]


def test_more_noise_makes_only_larger_steps_detectable():
    calm, noisy = series(1), [value**2 for value in series(1)]
    assert detectable(noisy) > 1.8 * detectable(calm) > 0.05
