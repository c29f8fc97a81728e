"""--fail-if: which conditions are met, which are not, and of which the runs cannot tell."""

import pytest
import sample_lines as sample
from comparing import compared, in_turn, made

from windtunnel.errors import UserError
from windtunnel.measure.compare.model import Interval, Measure
from windtunnel.measure.compare.options import _decision, conditions, decide


@pytest.fixture(scope="module")
def slower(tmp_path_factory):
    """10 pairs in which B is 10% slower."""
    return in_turn(tmp_path_factory.mktemp("pool") / "slower", 10, 6.0, 5.4)


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("slower:5%", True),
        ("slower", True),
        ("slower:12%", False),
        ("faster:1%", False),
        ("responses_per_s:-5%", True),
        ("responses_per_s:+5%", False),
        ("p99:+50%", False),
        ("invalid", False),
    ],
)
def test_a_threshold_applies_to_the_whole_interval(slower, text, fails):
    a, b = slower
    decided = decide(conditions([text]), compared(a, b))
    assert bool(decided.met) == fails and not decided.doubtful


@pytest.mark.parametrize(
    ("text", "percent", "low", "high", "shown", "expected"),
    [
        ("slower:5%", -8, -9, -6, True, True),
        ("slower:5%", -5.5, -7, -4, True, None),  # a difference, around the threshold
        ("slower:5%", -3, -4, -2, True, False),  # a difference, below the threshold
        ("slower:5%", -1, -5.5, 3.5, False, False),  # no difference by runs that would show 5%
        ("slower:5%", -1, -9, 7, False, None),  # no difference by runs that would not
        ("slower:5%", 3, -4, 11, False, False),  # they would not, but the interval excludes it
        ("slower:5%", 8, 6, 10, True, False),
        ("slower", -1, -9, 7, False, False),  # without a threshold: is a difference shown?
        ("slower", -4, -7, -1, True, True),
        ("faster:5%", -1, -9, 7, False, None),
        ("responses_per_s:+5%", 8, 6, 10, True, True),
    ],
)
def test_a_condition_is_met_or_not_or_these_runs_cannot_tell(text, percent, low, high, shown, expected):
    smallest = 1.1 * (high - low) / 2
    assert _decided(text, "responses_per_s", "higher", percent, low, high, smallest, shown) is expected


def test_a_latency_that_rises_is_slower():
    assert _decided("slower:5%", "p99", "lower", 8, 6, 10, 3, True) is True
    assert _decided("slower:5%", "p99", "lower", 1, -9, 11, 13, False) is None
    assert _decided("faster:5%", "p99", "lower", -8, -10, -6, 3, True) is True


def test_a_fall_is_found_where_a_rise_as_far_away_is():
    """A smallest detectable difference of 5.2% upwards is one of 4.94% downwards."""
    assert _decided("responses_per_s:-5%", "responses_per_s", "higher", -1, -5.5, 3.5, 5.2, False) is False
    assert _decided("responses_per_s:+5%", "responses_per_s", "higher", 1, -3.5, 5.5, 5.2, False) is None


def _decided(text, metric, better, percent, low, high, smallest, shown):
    interval = Interval(
        method="paired",
        a=1.0,
        b=1 + percent / 100,
        percent=percent,
        low=low,
        high=high,
        smallest=smallest,
        effect=0.5,
        p=0.5,
        p_corrected=0.5,
    )
    unit = "/s" if better == "higher" else "ns"
    fields = {"workload": "echo", "metric": metric, "unit": unit, "better": better, "a": [1.0], "b": [1.0]}
    found = Measure(**fields, interval=interval, unmeasured=None, shown=shown)
    (condition,) = conditions([text])
    return _decision(condition, found, "")[0]


def test_without_a_comparison_only_invalid_is_met(tmp_path):
    a = made(tmp_path / "a", 6.0)
    b = made(tmp_path / "b", 6.0, 10, invalid="engine died: SIGSEGV while measuring")
    comparison = compared(a, b)
    decided = decide(conditions(["faster:5%"]), comparison)
    assert decided.doubtful[0].startswith("echo: invalid: B: 1 of 1 run invalid") and not decided.met
    decided = decide(conditions(["faster:5%", "invalid"]), comparison)
    assert decided.met[0].startswith("echo: invalid: B: 1 of 1 run invalid") and not decided.doubtful
    decided = decide([], comparison)
    assert not decided.met and not decided.doubtful


def test_a_condition_on_an_unmeasured_metric_is_doubtful(tmp_path):
    plan = sample.plan(level="off")
    comparison = compared(made(tmp_path / "a", 6.0, plan=plan), made(tmp_path / "b", 6.0, 10, plan=plan))
    decided = decide(conditions(["server.app_rx.work_ns:+5%"]), comparison)
    assert decided.doubtful == ["server.app_rx.work_ns:+5%: not measured"] and not decided.met


@pytest.mark.parametrize(
    "text", ["", "slower:", "slower:5", "slower:+5%", "p99:5%", "p98:+5%", "invalid:5%", "p99", "slower:5%x"]
)
def test_invalid_conditions(text):
    with pytest.raises(UserError) as refused:
        conditions([text])
    assert refused.value.message == f"--fail-if {text}: not a condition"
