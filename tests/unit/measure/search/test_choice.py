"""Which load is measured next: the estimate, the grid, and what a fluke does to them."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_tools import trial

from windtunnel.measure.search import NDR, PDR, THROUGHPUT, Limits
from windtunnel.measure.search.bounds import Trials
from windtunnel.measure.search.choice import Chooser, stages
from windtunnel.measure.search.estimate import estimate
from windtunnel.measure.search.grid import Grid

LIMITS = Limits(1e4, 5e6)


@pytest.mark.parametrize(
    "goal, lost, carried",
    [
        (NDR, [0.1], 90),
        (NDR, [0.1, 0.2], 90),
        (NDR, [0.1, 0.2, 0.3], 80),
        (replace(NDR, exceed_ratio=0.0), [0.1, 0.2, 0.3], 70),
        (PDR, [0.1], 90 / 0.995),
        (NDR, [0.1, 0.0], None),
        (NDR, [0.1, 0.2, 0.3, 0.0], 90),
        (NDR, [0.0, 0.0], None),
        (PDR, [0.0004], None),
        (NDR, [], None),
    ],
)
def test_the_estimate_is_the_goals_quantile(goal, lost, carried):
    found = estimate(goal, [trial(1, loss_ratio, load=100) for loss_ratio in lost], None)
    assert found == (None if carried is None else pytest.approx(carried))


def test_long_trials_outweigh_short_ones_and_far_overload_has_no_weight():
    assert estimate(NDR, [trial(1, 0.2, 100), trial(1, 0.2, 100), trial(10, 0.1, 100)], None) == pytest.approx(90)
    assert estimate(NDR, [trial(1, 0.1, 100), trial(1, 0.9, 200), trial(1, 0.9, 200)], 100) == pytest.approx(90)


@given(st.floats(1e-3, 1e9), st.floats(1.001, 1e5), st.floats(0.001, 0.3), st.floats(0, 1))
def test_neighbours_on_the_grid_are_within_the_width(least, factor, width, where):
    limits = Limits(least, least * factor)
    grid = Grid(limits, width, least * factor**where)
    places = range(grid.first, min(grid.last, grid.first + 200) + 1)
    loads = [grid.load(place) for place in places]
    assert loads[0] == limits.min_load and grid.load(grid.last) == limits.max_load
    assert all(a < b and (b - a) / b <= width for a, b in pairwise(loads))
    assert [grid.place(load) for load in loads] == list(places)
    reach = grid.within(3 * width) if width < 0.3 else 1
    assert all((b - a) / b <= 3 * width for a, b in zip(loads, loads[reach:], strict=False))


def test_a_goal_has_coarser_ones_before_it():
    assert [(stage.final_trial_duration_s, stage.duration_sum_s) for stage in stages(NDR)] == [(1, 1), (1, 2), (1, 21)]
    assert stages(THROUGHPUT) == [THROUGHPUT]
    assert [stage.duration_sum_s for stage in stages(replace(NDR, exceed_ratio=0.0))] == [1, 21]


def test_an_outlier_below_a_lower_bound_is_not_repeated():
    trials = Trials()
    for load, losses in [(1e5, [0.1]), (2e5, 11 * [0.0]), (3e5, 11 * [0.1])]:
        for loss_ratio in losses:
            trials.add(trial(1, loss_ratio, load))
    load, duration_s = Chooser(NDR, Grid(LIMITS, NDR.width, 2.5e5)).next(trials)
    assert 2e5 < load < 3e5 and duration_s == 1


def test_a_goal_with_both_bounds_needs_no_trial():
    grid, trials = Grid(LIMITS, NDR.width, 1e6), Trials()
    for load, loss_ratio in [(grid.load(0), 0.0), (grid.load(1), 0.1)]:
        for _ in range(11):
            trials.add(trial(1, loss_ratio, load))
    assert Chooser(NDR, grid).next(trials) is None
    assert math.sqrt(grid.load(0) * grid.load(1)) == pytest.approx(1e6, rel=1e-4)
