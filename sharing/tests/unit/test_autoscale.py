"""The autoscaler as a function: limits, hysteresis, steps, and that it comes to rest."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from windtunnel_sharing.daemon.autoscale import Memory, step, weight_for
from windtunnel_sharing.daemon.bodies import Report
from windtunnel_sharing.daemon.keys import Autoscale

SECOND = 10**9
RULES = st.builds(
    Autoscale,
    by=st.sampled_from(["p99", "queue", "polls"]),
    queue=st.integers(1, 1000),
    low=st.floats(0.1, 0.5),
    down=st.floats(0.6, 0.95),
    up=st.floats(1.1, 4),
    up_after=st.integers(1, 3),
    down_after=st.integers(1, 5),
)
REPORTS = st.builds(
    Report,
    p99_ns=st.none() | st.integers(0, 10**9),
    queue=st.none() | st.integers(0, 10**6),
    polls=st.none() | st.floats(0, 1),
)


@given(RULES, st.integers(1, 64), st.integers(65, 1024), st.lists(REPORTS, max_size=40), st.data())
def test_every_step_keeps_the_limits_and_says_why(rule, least, most, reports, data):
    weight, memory = data.draw(st.integers(least, most)), Memory()
    for n, seen in enumerate(reports):
        taken = step(rule, least, most, 10**6, weight, memory, seen, n * SECOND // 2)
        assert least <= taken.weight <= most
        assert (taken.why is None) == (taken.weight == weight)
        assert taken.weight <= max(weight + 1, round(weight * rule.up))
        assert taken.weight >= min(weight - 1, round(weight * rule.down))
        weight, memory = taken.weight, taken.memory


@given(RULES, st.integers(1, 256), st.floats(0, 1))
def test_between_the_marks_nothing_changes(rule, weight, where):
    limit = {"p99": 10**6, "queue": rule.queue, "polls": rule.polls}[rule.by]
    value = limit * (rule.low + where * (1 - rule.low))
    if rule.by != "polls":
        value = int(value)
    if value / limit < rule.low:
        return
    seen = Report(**{"p99_ns" if rule.by == "p99" else rule.by: value})
    memory = Memory()
    for n in range(10):
        taken = step(rule, 1, 256, 10**6, weight, memory, seen, n * 10 * SECOND)
        assert (taken.weight, taken.why) == (weight, None)
        memory = taken.memory


@settings(max_examples=50)
@given(RULES, st.integers(10, 10**6), st.integers(1, 512))
def test_where_p99_goes_with_the_weight_it_comes_to_rest(rule, work, weight):
    rule = rule.model_copy(update={"by": "p99"})
    memory, steps = Memory(), []
    for n in range(400):
        seen = Report(p99_ns=work * 100_000 // weight)
        taken = step(rule, 1, 512, 500_000, weight, memory, seen, n * 10 * SECOND)
        if taken.weight != weight:
            steps.append(n)
        weight, memory = taken.weight, taken.memory
    rests = 300
    # Whole weights of 1 to 5 are too coarse for any two marks.
    assert weight <= 5 or all(n < rests for n in steps)


def test_a_report_without_the_signal_changes_nothing():
    assert step(Autoscale(), 1, 256, 10**6, 64, Memory(above=1), Report(queue=9), 0).memory == Memory(above=1)


def test_after_a_step_it_rests():
    first = step(Autoscale(), 1, 256, 10**6, 64, Memory(), Report(p99_ns=2 * 10**6), 0)
    assert first.weight == 128
    assert first.why == "p99 2000 us against 1000 us: 64 -> 128"
    assert step(Autoscale(), 1, 256, 10**6, 128, first.memory, Report(p99_ns=2 * 10**6), SECOND - 1).why is None
    assert step(Autoscale(), 1, 256, 10**6, 128, first.memory, Report(p99_ns=2 * 10**6), SECOND).weight == 256


def test_marks_that_would_see_saw_are_refused():
    with pytest.raises(ValidationError, match="low 0.9 must be below down 0.8"):
        Autoscale(low=0.9)


@given(st.integers(1000, 10**10), st.integers(10_000, 10**9))
def test_a_looser_objective_never_needs_more(slo, slice_ns):
    assert 1 <= weight_for(2 * slo, slice_ns) <= weight_for(slo, slice_ns) <= 256


def test_the_measured_shares_are_met_within_a_third():
    shares = [weight_for(p99, 120_000) / 256 for p99 in (200_000, 486_000, 1_001_000, 2_003_000)]
    assert shares == pytest.approx([0.53, 0.27, 0.14, 0.07], rel=0.34)
