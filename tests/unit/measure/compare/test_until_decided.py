"""Pairs that end as soon as they decide: intervals that hold at all looks together."""

from importlib import import_module

import numpy as np
import pytest
from comparing import in_turn

from windtunnel.errors import UserError
from windtunnel.measure.compare.comparison_record import PairedRuns
from windtunnel.measure.compare.conditions import conditions, decide, until_of
from windtunnel.measure.compare.paired_runs import _is_look
from windtunnel.measure.compare.sides import sides
from windtunnel.stats.differences import LEVEL, paired, paired_at_any_look

judge = import_module("windtunnel.measure.compare.judge")
MOST = 40


def looked_at(directory, pairs, mpps_b):
    """A comparison of pairs that were looked at after each."""
    a, b = in_turn(directory, pairs, 6.0, mpps_b)
    paired_runs = PairedRuns(pairs_wanted=60, pairs=pairs, seed=1, change="run", until_decided=True, stopped="decided")
    return judge.judge(*sides(a, b), 0.05, paired_runs)


def test_a_difference_that_is_none_is_shown_in_one_of_a_hundred_series_at_most():
    """Whoever stops at the first interval without 0; with that of a fixed number one of ten series has one."""
    random, shown, of_fixed = np.random.default_rng(5), 0, 0
    for _ in range(150):
        b = np.exp(0.03 * random.standard_t(4, MOST))
        ones = np.ones(MOST)
        looks = [paired_at_any_look(ones[:n], b[:n]) for n in range(11, MOST + 1)]
        shown += any(look is not None and not look.low <= 0 <= look.high for look in looks)
        of_fixed += any(not (e := paired(ones[:n], b[:n])).low <= 0 <= e.high for n in range(11, MOST + 1, 3))
    assert shown <= 0.01 * 150 + 3 and of_fixed > 0.03 * 150


@pytest.mark.parametrize("factor", [0.9, 1.0, 1.1])
def test_interval_and_p_value_agree(factor):
    random = np.random.default_rng(6)
    for count in (11, 15, 30):
        a, b = (np.exp(0.02 * random.standard_normal(count)) for _ in range(2))
        found = paired_at_any_look(a, b * factor)
        assert found is not None and found.method == "at any look"
        assert (found.p <= LEVEL) is not (found.low <= 0 <= found.high)
        assert found.low < found.difference < found.high


def test_without_any_difference_nothing_is_shown():
    found = paired_at_any_look([1.0] * 20, [1.0] * 20)
    assert found is not None and found.p == 1 and found.low < 0 < found.high


def test_too_few_pairs_cannot_tell(tmp_path):
    comparison = looked_at(tmp_path, 10, 3.0)
    (judged,) = comparison.points[0].judged
    assert judged.verdict == "cannot tell"
    assert judged.reasons == ["10 pairs, and 11 show a difference if each may be the last"]


def test_a_regression_is_met_by_the_wider_interval(tmp_path):
    comparison = looked_at(tmp_path, 12, 5.4)
    (measure,) = [m for m in comparison.points[0].measures if m.metric == "responses_per_s"]
    assert measure.interval is not None and measure.interval.method == "at any look"
    assert measure.shown and comparison.points[0].judged[0].verdict == "slower"
    assert measure.unmeasured is None
    # the only metric that decides: signs of pairs whose number depends on them would tell another one
    assert measure.interval.p_corrected == measure.interval.p <= LEVEL
    (asked,) = conditions(["slower:5%"])
    assert decide([asked], comparison).met


@pytest.mark.parametrize(("texts", "remedy"), [([], "--fail-if CONDITION"), (["slower"], "slower:2%")])
def test_pairs_end_by_conditions_with_a_threshold(texts, remedy):
    with pytest.raises(UserError) as refused:
        until_of(conditions(texts), None)
    assert remedy in refused.value.remedy


def test_too_few_pairs_are_refused_before_they_run():
    with pytest.raises(UserError, match="--pairs 10: too few"):
        until_of(conditions(["slower:2%"]), 10)


def test_looks_are_rarer_the_more_pairs_there_are():
    assert [n for n in range(1, 70) if _is_look(n)][:14] == [*range(11, 23), 24, 26]
    assert sum(map(_is_look, range(1, 61))) < 30


def test_conditions_with_a_threshold_are_taken():
    assert [each.text for each in until_of(conditions(["p99:+10%", "invalid"]), 11)] == ["p99:+10%", "invalid"]
