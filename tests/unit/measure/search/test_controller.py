"""The search for several goals on simulated devices: what it finds, what it never does, and how it says that it cannot."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from search_tools import oracle, trial
from simulated_device import Device

from windtunnel.measure.search import NDR, PDR, THROUGHPUT, Bound, Goal, Limits, classify, search
from windtunnel.measure.search.bounds import Bounds, Trials
from windtunnel.measure.search.results import goal_result

LIMITS = Limits(1e4, 5e6)
STRICT = Goal("strict", 0.0, 0.0, initial_trial_duration_s=1, final_trial_duration_s=30, duration_sum_s=30)
VERIFIED = Goal("verified", 0.0, 0.5, initial_trial_duration_s=1, final_trial_duration_s=30, duration_sum_s=60)
WIDE = Goal("wide", 0.02, width=0.02)

devices = st.builds(
    Device,
    capacity=st.floats(3e4, 4e6),
    buffer=st.sampled_from([0, 0, 500, 20_000]),
    noise=st.sampled_from([0.0, 0.0, 0.001, 0.01]),
    drift_per_s=st.sampled_from([0.0, 0.0, 1e-5, -1e-5]),
    stall_every_s=st.sampled_from([math.inf, math.inf, 7.3]),
    stall_s=st.just(0.02),
    collapse=st.sampled_from([0.0, 0.0, 0.3, 1.5]),
    generator=st.sampled_from([math.inf, math.inf, 2e6]),
    overhead_s=st.sampled_from([0.0, 0.4]),
    seed=st.integers(0, 1000),
)
some_goals = st.lists(
    st.sampled_from([NDR, PDR, STRICT, VERIFIED, WIDE]), min_size=1, max_size=3, unique_by=lambda goal: goal.name
)


@pytest.mark.parametrize("goal", [NDR, PDR, THROUGHPUT, STRICT, VERIFIED, WIDE], ids=lambda goal: goal.name)
@pytest.mark.parametrize("capacity", [1e4 * 1.01, 123_456.7, 1e6, 4.89e6])
def test_a_steady_device_is_found_to_the_width(goal, capacity):
    device = Device(capacity)
    (result,) = search(device, [goal], LIMITS).goals
    assert result.regular and result.width <= goal.width
    assert result.relevant_lower_bound <= device.truth(goal) * 1.00001 < result.relevant_upper_bound * 1.00002
    assert result.conditional_throughput == pytest.approx(min(capacity, result.relevant_lower_bound), rel=1e-4)


def test_two_goals_share_their_trials():
    both = search(Device(1e6), [NDR, PDR], LIMITS)
    assert [len(search(Device(1e6), [goal], LIMITS).trials) for goal in (NDR, PDR)] == [23, 23]
    assert len(both.trials) == 1 + 3 * 11
    assert both["NDR"].relevant_upper_bound == both["PDR"].relevant_lower_bound
    assert both["PDR"].relevant_lower_bound > 1e6 > both["PDR"].conditional_throughput * 0.9999
    cut = search(Device(1e6), [NDR, PDR], replace(LIMITS, trials=len(both.trials) - 1))
    assert cut["NDR"] == both["NDR"] and not cut["PDR"].regular, "what is decided before the end stays regular"


@pytest.mark.slow
@examples(50)
@given(devices, some_goals)
def test_results_satisfy_the_rfc_on_any_device(device, goals):
    result = search(replace(device), goals, LIMITS)
    assert all(LIMITS.min_load <= trial.load <= LIMITS.max_load for trial in result.trials)
    assert {t.duration_s for t in result.trials} <= {
        d for g in goals for d in (g.initial_trial_duration_s, g.final_trial_duration_s)
    }
    assert result.stopped is None and len(result.trials) < 400
    assert result.elapsed_s == pytest.approx(
        sum(t.duration_s for t in result.trials) + len(result.trials) * device.overhead_s
    )
    for found in result.goals:
        _keeps_the_rules(found, result.trials)


def _keeps_the_rules(found, trials):
    """What RFC 9971, section 4.8 says of a goal's result, worked out again from the trials alone."""
    loads = {t.load: [other for other in trials if other.load == t.load] for t in trials}
    bounds = {load: classify(found.goal, at) for load, at in loads.items()}
    upper = min((load for load, bound in bounds.items() if bound is Bound.UPPER), default=None)
    below = [load for load, bound in bounds.items() if bound is Bound.LOWER and (upper is None or load < upper)]
    assert found.relevant_upper_bound == upper
    assert found.relevant_lower_bound == max(below, default=None)
    assert found.lower_trials == tuple(loads.get(found.relevant_lower_bound, ()))
    assert found.upper_trials == tuple(loads.get(upper, ()))
    if found.relevant_lower_bound is not None:
        assert 0 < found.conditional_throughput <= found.relevant_lower_bound
    if found.regular:
        assert found.width <= found.goal.width
    else:
        assert upper == LIMITS.min_load or (upper is None and found.relevant_lower_bound == LIMITS.max_load)


@pytest.mark.slow
@examples(10)
@given(devices, some_goals)
def test_the_same_device_gives_the_same_search(device, goals):
    assert search(replace(device), goals, LIMITS) == search(replace(device), goals, LIMITS)


# Goals that share their final duration: with a buffer, trials of 30 s have another limit than those of 1 s, and decide for both.
@examples(25)
@given(
    st.builds(Device, st.floats(2e4, 4.8e6), st.sampled_from([0, 300])),
    st.sampled_from([[NDR, PDR], [STRICT], [VERIFIED, STRICT], [PDR]]),
)
def test_the_reference_implementation_agrees_on_steady_devices(device, goals):
    ours = search(replace(device), goals, LIMITS).goals
    for result, (lower, upper) in zip(ours, oracle().search(replace(device), goals, LIMITS).bounds, strict=True):
        assert result.regular
        assert result.relevant_lower_bound < upper and lower < result.relevant_upper_bound


@pytest.mark.parametrize(
    ("device", "goals", "regular"),
    [
        (Device(1e6), [NDR, WIDE], [True, True]),  # other widths share a grid
        (Device(4.99e6), [NDR, WIDE], [True, False]),
        (Device(1e6, collapse=5.0), [STRICT, PDR], [True, True]),  # it collapses at once
    ],
    ids=["widths", "near the greatest load", "collapse"],
)
def test_each_goal_has_its_own_result(device, goals, regular):
    found = search(device, goals, LIMITS).goals
    assert [goal.regular for goal in found] == regular
    if device == Device(1e6):
        assert found[1].width > 2 * NDR.width


def test_a_device_faster_than_the_greatest_load_is_irregular():
    (found,) = search(Device(1e7), [NDR], LIMITS).goals
    assert found.irregular == "the highest load, 5e+06, still meets the goal: the limit lies above"
    assert (found.relevant_lower_bound, found.relevant_upper_bound, found.width) == (5e6, None, None)
    assert found.conditional_throughput == 5e6 and len(found.lower_trials) == 11


@pytest.mark.parametrize("device", [Device(5e3), Device(1e6, stall_every_s=7.0, stall_s=0.1)], ids=["slow", "stalling"])
def test_a_device_slower_than_the_least_load_is_irregular(device):
    result = search(device, [STRICT], LIMITS)
    found = result["strict"]
    assert found.irregular == "even the lowest load, 10000, does not meet the goal: no load that was offered does"
    assert (found.relevant_lower_bound, found.relevant_upper_bound) == (None, 1e4)
    assert found.conditional_throughput is None and result.stopped is None
    assert len(result.trials) < 25, "the way down must be taken in growing steps"


def test_tolerated_stalls_do_not_change_the_result():
    device = Device(1e6, stall_every_s=9.0, stall_s=0.05, overhead_s=0.1)
    found = search(device, [NDR], LIMITS)["NDR"]
    assert found.relevant_lower_bound == pytest.approx(device.truth(NDR), rel=NDR.width)
    assert any(trial.lost for trial in found.lower_trials)


def eleven_of_each(*losses):
    """Trials at these loads, which settle them."""
    trials = Trials()
    for load, loss_ratio in losses:
        for _ in range(11):
            trials.add(trial(1, loss_ratio, load))
    return trials


def test_a_load_that_did_worse_below_is_believed():
    trials = eleven_of_each((1e5, 0.0), (2e5, 0.1), (3e5, 0.0), (4e5, 0.1))
    assert trials.bounds(NDR) == Bounds(1e5, 2e5)
    assert trials.bounds(NDR, within=Bounds(2e5, None)) == Bounds(3e5, 4e5)
    assert trials.bounds(NDR, within=Bounds(None, 2e5)) == Bounds(1e5, 2e5)
    assert trials.bounds(NDR, within=Bounds(2e5, 3e5)) == Bounds(2e5, 3e5)


def test_an_interval_of_the_width_ends_the_search():
    trials = eleven_of_each((99_500.0, 0.0), (100_000.0, 0.1))
    assert goal_result(NDR, LIMITS, trials, None).regular
    assert goal_result(replace(NDR, width=0.0049), LIMITS, trials, "why").irregular == "why"


def test_the_generators_limit_is_distinguished_from_the_devices():
    assert search(Device(4e6, generator=1e6), [PDR], LIMITS)["PDR"].limited_by_generator
    assert not search(Device(1e6, generator=4e6), [PDR], LIMITS)["PDR"].limited_by_generator
    assert not search(Device(1e7), [PDR], LIMITS)["PDR"].limited_by_generator


def test_the_number_of_trials_is_limited():
    result = search(Device(1e6), [NDR, PDR], replace(LIMITS, trials=20))
    assert len(result.trials) == 20
    assert result.stopped == "all 20 allowed trials are used"
    assert [found.irregular for found in result.goals] == [result.stopped] * 2 or result["NDR"].regular


@pytest.mark.parametrize("overhead_s, trials", [(0.0, 20), (1.0, 10)])
def test_the_time_limit_includes_overhead(overhead_s, trials):
    result = search(Device(1e6, overhead_s=overhead_s), [NDR], replace(LIMITS, time_s=20.0))
    assert len(result.trials) == trials and result.elapsed_s == 20.0
    assert result["NDR"].irregular.startswith("of the 20 s allowed, 20 s are gone")


def test_no_trial_starts_that_would_exceed_the_time_limit():
    result = search(Device(1e6, overhead_s=0.5), [STRICT], replace(LIMITS, time_s=30.0))
    assert all(trial.duration_s == 1 for trial in result.trials) and result.stopped
    assert len(search(Device(1e6, overhead_s=1.0), [NDR], replace(LIMITS, time_s=21.5)).trials) == 10


def excluded_at(*numbers):
    device, count = Device(1e6), iter(range(10_000))

    def measure(load, duration_s):
        return replace(device(load, duration_s), excluded="steal" if next(count) in numbers else None)

    return measure


def test_excluded_trials_are_repeated_and_do_not_count():
    excluded = search(excluded_at(0, 3, 4), [NDR], LIMITS)
    quiet = search(Device(1e6), [NDR], LIMITS)
    assert len(excluded.trials) == len(quiet.trials) + 3
    assert excluded.goals == quiet.goals
    assert [t for t in excluded.trials if t.excluded is None] == list(quiet.trials)
    assert excluded.elapsed_s == quiet.elapsed_s + 3
    assert all(a.load == b.load for a, b in pairwise(excluded.trials[3:6]))


def test_too_many_excluded_trials_in_a_row_end_the_search():
    result = search(excluded_at(5, 6, 7), [NDR], LIMITS)
    assert len(result.trials) == 8
    assert "3 trials in a row of 1 s at a load of " in result.stopped and "steal" in result.stopped
    assert result["NDR"].irregular == result.stopped


def test_progress_is_reported_after_every_trial():
    told = []
    result = search(excluded_at(2), [NDR, PDR], LIMITS, on_trial=lambda trial, goals: told.append((trial, goals)))
    assert [trial for trial, _ in told] == list(result.trials)
    assert told[-1][1] == result.goals
    assert [goal.irregular for goal in told[0][1]] == ["the search is not at its end"] * 2
