"""Latency objectives: the percentile of a trial, goals that have one, and searches for them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated_device import Device

from windtunnel.errors import UserError
from windtunnel.measure.search import (
    NDR,
    Goal,
    Latencies,
    Limits,
    Objective,
    TrialResult,
    binary_search,
    conditional_throughput,
    search,
)
from windtunnel.measure.search.classification import fails
from windtunnel.measure.search.results import GoalResult

LIMITS = Limits(3000, 1.5e6)
P99 = Goal("p99", 0.01, latency=Objective(0.99, 50e3))


def of(values, missing=0) -> Latencies:
    return Latencies.from_counts(((value, 1) for value in sorted(values)), missing)


def a_trial(latencies, load=1000.0, duration_s=1.0) -> TrialResult:
    lost = latencies.missing if latencies else 0
    return TrialResult(load, duration_s, 1000, 1000 - lost, latencies=latencies)


@pytest.mark.parametrize(("share", "least"), [(0.5, 2), (0.9, 10), (0.99, 100), (0.999, 1000)])
def test_with_fewer_messages_none_lies_beyond_the_percentile(share, least):
    assert Objective(share, 1.0).least_messages == least
    assert of(range(1, least + 1)).percentile_ns(share) == least - 1
    assert of(range(1, least)).percentile_ns(share) == math.inf


@pytest.mark.parametrize(("share", "rank"), [(0.5, 500), (0.9, 900), (0.99, 990), (0.999, 999), (0.9995, 1001)])
def test_a_percentile_is_the_value_that_its_share_does_not_exceed(share, rank):
    assert of(range(1, 1001)).percentile_ns(share) == (rank if rank <= 1000 else math.inf)


@given(
    st.lists(st.integers(1, 1000), max_size=400),
    st.integers(0, 20),
    st.sampled_from([0.5, 0.9, 0.99]),
    st.integers(1, 1000),
)
def test_an_objective_is_met_where_the_percentile_is_within_the_limit(values, missing, share, limit):
    latencies = of(values, missing)
    assert latencies.messages == len(values) + missing
    assert latencies.within(limit) == sum(value <= limit for value in values)
    assert Objective(share, limit).is_met(latencies) == (latencies.percentile_ns(share) <= limit)


def found_in(trials, share=0.99):
    goal = replace(P99, duration_sum_s=len(trials))
    return GoalResult(goal, None, 1000.0, 2000.0, 1000.0, tuple(map(a_trial, trials)), ())


def test_the_interval_over_trials_holds_although_messages_of_a_trial_depend_on_each_other():
    """Each trial has a level of its own, as a queue has. The upper bound of one trial by the binomial distribution was above the true value
    in half of them."""
    random, holds = np.random.default_rng(1), 0
    true = 1e4 * math.log(100)
    for _ in range(100):
        levels = np.exp(random.normal(0, 0.2, 15))
        trials = [of((random.exponential(1e4 * level, 1000)).astype(int) + 1) for level in levels]
        low, high = found_in(trials).latency_interval_ns
        holds += low <= true <= high
    assert holds >= 90


def test_few_trials_have_a_percentile_and_no_interval():
    found = found_in([of(range(1, 1001)), of(range(2, 1002)), of(range(3, 1003))])
    assert found.latency_ns == 991 and found.latency_interval_ns is None


def test_a_message_without_a_response_is_later_than_any_limit():
    assert of([10] * 990, missing=10).percentile_ns(0.99) == 10
    assert of([10] * 989, missing=11).percentile_ns(0.99) == math.inf
    assert not Objective(0.99, 1e12).is_met(of([10] * 985, missing=15))


def test_a_trial_fails_by_loss_or_by_latency():
    good, slow = of([10_000] * 1000), of([10_000] * 900 + [90_000] * 100)
    assert [fails(P99, a_trial(each)) for each in (good, slow)] == [False, True]
    assert fails(replace(P99, loss_ratio=0.0), a_trial(of([10_000] * 999, missing=1)))
    assert not fails(NDR, a_trial(slow))


def test_a_goal_with_an_objective_needs_latencies():
    with pytest.raises(UserError, match="the trial at 1000 has no latencies"):
        fails(P99, a_trial(None))
    with pytest.raises(UserError, match="no latencies"):
        search(Device(1e6), [P99], LIMITS)


def test_conditional_throughput_counts_trials_that_met_the_objective_first():
    good, slow = a_trial(of([10_000] * 998, missing=2)), a_trial(of([90_000] * 1000))
    goal = replace(P99, duration_sum_s=2.0, loss_ratio=0.02)
    assert conditional_throughput(goal, 1000.0, [slow, good]) == pytest.approx(998)


@pytest.mark.parametrize(
    ("share", "limit", "words"),
    [
        *((share, 1.0, "percentile") for share in (0.0, 1.0, 1.5)),
        *((0.99, limit, "limit") for limit in (0.0, -1.0, math.inf, math.nan)),
    ],
)
def test_an_objective_that_is_none_is_refused(share, limit, words):
    with pytest.raises(UserError, match=words):
        Objective(share, limit)


@pytest.mark.parametrize(
    ("share", "limit_ns", "capacity"), [(0.99, 50e3, 1e6), (0.5, 20e3, 1e6), (0.999, 200e3, 1e6), (0.99, 50e3, 2e5)]
)
def test_the_rate_of_a_queue_is_found_to_the_width(share, limit_ns, capacity):
    """M/M/1: p99 is ln(100)/(capacity - rate)."""
    goal = Goal("latency", round(1 - share, 6), latency=Objective(share, limit_ns))
    device = Device(capacity, wait_ns=1000)
    (found,) = search(device, [goal], LIMITS).goals
    assert found.regular and found.width <= goal.width
    truth = capacity + 1e9 * math.log(1 - share) / (limit_ns - 1000)
    assert device.truth(goal) == pytest.approx(truth)
    assert found.relevant_lower_bound <= truth * 1.0005 and found.relevant_upper_bound >= truth * 0.985
    assert 0.9 * limit_ns < found.latency_ns <= limit_ns


def test_where_latency_fails_first_the_way_is_halved():
    """A limit at half of what is carried: 22 trials at its two bounds, and few to find them."""
    goal = Goal("p99", 0.01, latency=Objective(0.99, 10e3))
    assert len(search(Device(1e6, wait_ns=1000), [goal], LIMITS).trials) <= 40


def test_loss_and_latency_limit_together():
    """A device that loses before it is slow, and one that is slow before it loses."""
    goal = Goal("p99", 0.001, latency=Objective(0.99, 5e6))
    losing, slow = (search(Device(c, wait_ns=w), [goal], LIMITS).goals[0] for c, w in ((1e6, 10), (1e6, 4.99e6)))
    assert losing.relevant_lower_bound == pytest.approx(1e6, rel=0.005)
    assert slow.relevant_lower_bound == pytest.approx(1e6 - 1e9 * math.log(100) / 10e3, rel=0.01)


NO_RATE = "even the lowest load, 3000, does not meet the goal: no load that was offered does"
ANY_RATE = "the highest load, 1.5e+06, still meets the goal: the limit lies above"


@pytest.mark.parametrize(
    ("device", "words"), [(Device(1e6, wait_ns=60_000), NO_RATE), (Device(1e7, wait_ns=1000), ANY_RATE)]
)
def test_a_goal_that_no_rate_or_any_rate_meets_is_said(device, words):
    (found,) = search(device, [P99], LIMITS).goals
    assert found.irregular == words and not found.limited_by_generator
    assert (found.relevant_lower_bound is None) == (words is NO_RATE)
    assert (found.latency_ns > 60_000) if words is NO_RATE else (found.latency_ns < 50e3)


def test_a_latency_that_fails_because_the_generator_was_late_is_the_generators():
    (found,) = search(Device(1e6, wait_ns=1000, generator=4e5), [P99], LIMITS).goals
    assert found.limited_by_generator and found.relevant_upper_bound < 4.2e5


def test_loss_and_latency_goals_share_their_trials():
    result = search(Device(1e6, wait_ns=1000), [NDR, P99], LIMITS)
    assert all(goal.regular for goal in result.goals)
    assert result["p99"].relevant_upper_bound < result["NDR"].relevant_lower_bound
    assert result["NDR"].latency_ns is None
    assert len(result.trials) < 80


def test_the_binary_search_heeds_latency():
    goal = replace(P99, final_trial_duration_s=10.0, duration_sum_s=10.0)
    (found,) = binary_search(Device(1e6, wait_ns=1000), LIMITS, goal).goals
    truth = Device(1e6, wait_ns=1000).truth(goal)
    assert found.regular and found.relevant_lower_bound <= truth * 1.0005 <= found.relevant_upper_bound * 1.001
