"""--fail-if: which conditions are met, which are not, and of which the runs cannot tell."""

import json

import pytest
import sample_lines as sample
from comparing import compared, in_turn, made

from windtunnel.errors import UserError
from windtunnel.measure.compare.comparison_record import Interval, Measure
from windtunnel.measure.compare.conditions import _decision, conditions, decide


@pytest.fixture(scope="module")
def slower(tmp_path_factory):
    """Of 10 pairs in which B is 10% slower."""
    return compared(*in_turn(tmp_path_factory.mktemp("pool") / "slower", 10, 6.0, 5.4))


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
    decided = decide(conditions([text]), slower)
    assert bool(decided.met) == fails and not decided.doubtful
    assert all(reason.startswith("echo: ") for reason in decided.met)


RATE, P99 = ("responses_per_s", "higher"), ("p99", "lower")


@pytest.mark.parametrize(
    ("text", "of", "percent", "low", "high", "shown", "expected"),
    [
        ("slower:5%", RATE, -8, -9, -6, True, True),
        ("slower:5%", RATE, -5.5, -7, -4, True, None),  # a difference, around the threshold
        ("slower:5%", RATE, -3, -4, -2, True, False),  # a difference, below the threshold
        ("slower:5%", RATE, -1, -5.5, 3.5, False, None),  # 5% is inside the interval
        ("slower:5%", RATE, -1, -4.5, 3.5, False, False),
        ("slower:5%", RATE, 3, -4, 11, False, False),  # wide, and it excludes what is asked for
        ("p99:+10%", P99, 20, 14, 21, False, True),  # too few pairs to be shown among 16 metrics
        ("p99:+10%", P99, 20, 9, 21, False, None),
        ("slower:5%", RATE, 8, 6, 10, True, False),
        ("slower", RATE, -1, -9, 7, False, False),  # without a threshold: is a difference shown?
        ("slower", RATE, -4, -7, -1, True, True),
        ("faster:5%", RATE, -1, -9, 7, False, None),
        ("responses_per_s:+5%", RATE, 8, 6, 10, True, True),
        ("slower:5%", P99, 8, 6, 10, True, True),  # a latency that rises is slower
        ("slower:5%", P99, 1, -9, 11, False, None),
        ("faster:5%", P99, -8, -10, -6, True, True),
    ],
)
def test_a_condition_is_met_or_not_or_these_runs_cannot_tell(text, of, percent, low, high, shown, expected):
    assert _decided(text, *of, percent, low, high, 1.1 * (high - low) / 2, shown) is expected


@pytest.mark.parametrize("pairs", [8, 9, 10, 11])
def test_a_proven_regression_of_the_metric_that_is_named_fails(tmp_path, pairs):
    """A stage of B takes 20% longer in every pair. So few pairs show it among all metrics, too; after Holm over all of them nothing is."""
    a, b = in_turn(tmp_path / "pool", pairs, 6.0, 6.0)
    for file in b.glob("*/windows.jsonl"):
        windows = [json.loads(line) for line in file.read_text().splitlines()]
        for stage in (stage for window in windows for stage in window["stages"]):
            if (stage["endpoint"], stage["stage"]) == ("server", "app_rx"):
                stage["busy_cycles"] = round(1.2 * stage["busy_cycles"])
        file.write_text("".join(json.dumps(window) + "\n" for window in windows))
    comparison = compared(a, b)
    (work,) = (each for each in comparison.points[0].measures if each.metric == "server.app_rx.work_ns")
    assert work.interval.low > 10 and work.shown and work.interval.p_corrected == pytest.approx(2 / 2**pairs)
    for text, fails in (("server.app_rx.work_ns:+10%", 1), ("server.app_rx.work_ns:+40%", 0), ("p99:+10%", 0)):
        decided = decide(conditions([text]), comparison)
        assert len(decided.met) == fails and not decided.doubtful


def _decided(text, metric, better, percent, low, high, smallest, shown):
    sides = {"method": "paired", "a": 1.0, "b": 1 + percent / 100, "effect": 0.5, "p": 0.5, "p_corrected": 0.5}
    interval = Interval(**sides, percent=percent, low=low, high=high, joint_low=low, joint_high=high, smallest=smallest)
    unit = "/s" if better == "higher" else "ns"
    fields = {"workload": "echo", "metric": metric, "unit": unit, "better": better, "a": [1.0], "b": [1.0]}
    found = Measure(**fields, interval=interval, unmeasured=None, shown=shown)
    (condition,) = conditions([text])
    return _decision(condition, found, "")[0]


def test_an_assumed_spread_decides_nothing(tmp_path):
    """A single pair may differ by anything."""
    comparison = compared(*in_turn(tmp_path / "pool", 2, 6.0, 0.6), force=True)
    decided = decide(conditions(["slower:5%", "faster:5%"]), comparison)
    assert not decided.met
    assert [words.partition("], ")[2] for words in decided.doubtful] == [
        "with an assumed spread between runs: 3 pairs in one state of the host are needed"
    ] * 2


BUSY = "windows: 9 of 12 windows excluded"


@pytest.mark.parametrize(
    ("of_a", "of_b", "words"),
    [
        (
            [BUSY],
            ["engine died: SIGABRT while measuring"] * 3,
            "B is broken, in 3 of 3 runs, and A is not: engine died",
        ),
        (
            [None],
            ["handler wrong: misses 3", None] + ["engine killed: silent"] * 2,
            "B is broken, in 3 of 4 runs, and A",
        ),
        ([None], ["engine died: SIGABRT while measuring"] * 2, None),
        ([None, BUSY], [BUSY, BUSY, BUSY, *["ledger open: 1 mbuf"] * 3], None),
        ([None], [BUSY] * 3, None),
        (["no result: x"], ["engine died: SIGSEGV"] * 3, None),
    ],
)
def test_a_b_that_crashes_fails_any_condition_and_a_busy_host_none(tmp_path, of_a, of_b, words):
    for side, reasons in (("a", of_a), ("b", of_b)):
        for n, reason in enumerate(reasons):
            made(tmp_path / side / str(n), 6.0, 20 * n + 10 * (side == "b"), invalid=reason)
    decided = decide(conditions(["slower:5%"]), compared(tmp_path / "a", tmp_path / "b"))
    if words:
        assert len(decided.met) == 1 and decided.met[0].startswith(words) and not decided.doubtful
    else:
        assert decided.doubtful and not decided.met


@pytest.mark.parametrize(
    ("left_out", "runs", "is_doubtful"),
    [
        ({"invalid": "no responses"}, 12, True),
        ({"state": "two-l3s"}, 12, True),
        ({"invalid": "no responses"}, 1, False),  # as chance has it
    ],
)
def test_slow_runs_of_b_that_are_left_out_pass_no_gate(tmp_path, left_out, runs, is_doubtful):
    for n in range(12):
        made(tmp_path / "a" / f"{n}", 6.0 + n % 3 / 100, 60 * n, seed=n, state="one-l3")
        made(tmp_path / "b" / f"{n}", 6.0 + n % 3 / 100, 60 * n + 30, seed=n, state="one-l3")
    for n in range(12, 12 + runs):
        made(tmp_path / "b" / f"{n}", 3.0, 60 * n + 30, seed=n, **{"state": "one-l3"} | left_out)
    decided = decide(conditions(["responses_per_s:-5%"]), compared(tmp_path / "a", tmp_path / "b"))
    assert not decided.met
    expected = [f"{runs} of {12 + runs} runs of B were left out, and 0 of 12 of A (exact test, p = 0.0025)"]
    assert decided.doubtful == (expected if is_doubtful else []), decided.doubtful


def test_a_link_to_runs_elsewhere_is_refused(tmp_path):
    made(tmp_path / "a" / "1"), made(tmp_path / "b" / "1", at_s=60), made(tmp_path / "slow" / "1", 3.0, 120)
    (tmp_path / "b" / "latest").symlink_to(tmp_path / "b" / "1")
    compared(tmp_path / "a", tmp_path / "b")  # a link to what is counted anyway
    (tmp_path / "b" / "2").symlink_to(tmp_path / "slow" / "1")
    with pytest.raises(UserError, match="b/2: a link to a run, which is not followed"):
        compared(tmp_path / "a", tmp_path / "b")


def test_both_sides_that_are_invalid_say_why(tmp_path):
    a = made(tmp_path / "a", 6.0, invalid="windows: 9 of 12")
    b = made(tmp_path / "b", 6.0, 10, invalid="clock: unsteady")
    (words,) = decide(conditions(["slower:5%"]), compared(a, b)).doubtful
    assert "A: 1 of 1 run invalid" in words and "B: 1 of 1 run invalid" in words and "clock: unsteady" in words


def test_without_a_comparison_only_invalid_is_met(tmp_path):
    b = made(tmp_path / "b", 6.0, 10, invalid="windows: 9 of 12 windows excluded")
    comparison = compared(made(tmp_path / "a", 6.0), b)
    reason = "echo: invalid: B: 1 of 1 run invalid"
    for texts, met, doubtful in ((["faster:5%"], 0, 1), (["faster:5%", "invalid"], 1, 0), ([], 0, 0)):
        decided = decide(conditions(texts), comparison)
        assert (len(decided.met), len(decided.doubtful)) == (met, doubtful)
        assert all(words.startswith(reason) for words in [*decided.met, *decided.doubtful])


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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("slower:0%", "0% is no threshold"),
        ("p99:+0.0%", "0% is no threshold"),
        ("responses_per_s:-500%", "no metric falls by 500%"),
        ("p99:-100%", "no metric falls by 100%"),
    ],
)
def test_a_threshold_that_no_run_could_show_or_have_is_refused(text, words):
    with pytest.raises(UserError, match=words):
        conditions([text])
    assert conditions(["p99:+500%"])
