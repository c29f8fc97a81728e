"""What a run on another day will show."""

import numpy as np
import pytest

from windtunnel.stats.days import LEAST_DAYS, another_day


def days_of(random, days, runs, between=0.03, within=0.01):
    return [(between * random.standard_normal() + within * random.standard_normal(runs)).tolist() for _ in range(days)]


@pytest.mark.parametrize(("days", "runs"), [(3, 10), (5, 1), (10, 4)])
@pytest.mark.parametrize("between", [0.0, 0.03])
def test_a_run_on_another_day_lies_in_the_interval_as_often_as_it_says(days, runs, between):
    """Ten runs of one day hold the long-run value in 26% if days differ by 3% and runs by 1%."""
    random, holds = np.random.default_rng(days), 0
    for _ in range(600):
        found = another_day(days_of(random, days, runs, between))
        ((another,),) = days_of(random, 1, 1, between)
        holds += found.low <= another <= found.high
    assert 0.92 * 600 <= holds


def test_few_days_tell_nothing_and_equal_ones_everything():
    assert another_day([[1.0, 2.0]] * (LEAST_DAYS - 1)) is None
    found = another_day([[2.0]] * LEAST_DAYS)
    assert (found.mean, found.low, found.high) == (2.0, 2.0, 2.0)


def test_days_with_many_runs_weigh_no_more():
    assert another_day([[1.0] * 50, [2.0], [3.0]]).mean == 2.0
