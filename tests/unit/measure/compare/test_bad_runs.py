"""Runs that went badly are a result: those that did not settle, and those that lost their slowest messages, are compared like any other."""

import pytest
import sample_lines as sample
from comparing import change, compared, in_state, made

from windtunnel.engine.plan import Load
from windtunnel.errors import UserError
from windtunnel.measure.compare.conditions import conditions, decide
from windtunnel.measure.compare.paired_runs import _check_workloads

OPEN = {"load": Load(mode="open", phases=[], lead=0)}
OPEN_LOOP = sample.plan().model_copy(update={"workloads": [sample.plan().workloads[0].model_copy(update=OPEN)]})


def _measure(comparison, metric):
    (found,) = (each for each in comparison.points[0].measures if each.metric == metric)
    return found


def falling(directory, count, of_b):
    """Pairs, and every third run of B, as many as `of_b`, fell by 30% half-way: its mean is 15% lower, and it did not settle."""
    for n in range(count):
        fell = n % 3 == 0 and n < 3 * of_b
        made(directory / "a" / f"{n:02}", 6.0, 20 * n, seed=2 * n)
        made(directory / "b" / f"{n:02}", 5.1 if fell else 6.0, 20 * n + 10, seed=2 * n + 1)
        for side, settled in (("a", True), ("b", not fell)):
            validity = in_state("one-l3", settled).model_dump(mode="json")
            change(directory / side / f"{n:02}", validity=validity)
    return compared(directory / "a", directory / "b")


@pytest.mark.slow
def test_a_run_that_did_not_settle_is_compared_like_any_other(tmp_path):
    """Who drops it, and its partner, shows no difference of a build that falls in some runs."""
    comparison = falling(tmp_path, 24, 8)
    assert len(_measure(comparison, "responses_per_s").b) == 24
    assert _measure(comparison, "responses_per_s").interval.percent < -1
    found = comparison.points[0].unsettled
    assert (found.a, found.of_a, found.b, found.of_b) == (0, 24, 8, 24) and found.p == pytest.approx(0.0039, abs=1e-3)
    words = "not settled: 0 of 24 runs of A and 8 of 24 of B; the shares differ (exact test, p = 0.0039)"
    assert words in comparison.warnings


def lossy(directory, lost_b, pairs=8):
    """Pairs in an open loop, and so many messages of each window of B are lost."""
    for n in range(pairs):
        made(directory / "a" / f"{n:02}", 6.0, 20 * n, seed=2 * n, plan=OPEN_LOOP)
        made(directory / "b" / f"{n:02}", 6.0, 20 * n + 10, seed=2 * n + 1, plan=OPEN_LOOP, lost=lost_b)
    return compared(directory / "a", directory / "b")


@pytest.mark.slow
def test_a_lost_message_is_later_than_any_response(tmp_path):
    """A build that loses its slowest messages is not faster; one that loses more than p99 leaves has risen beyond any threshold."""
    few = lossy(tmp_path / "few", 1)
    assert _measure(few, "p99").beyond_b == 0
    many = lossy(tmp_path / "many", 600_000)
    p99 = _measure(many, "p99")
    assert (p99.beyond_a, p99.beyond_b, p99.interval) == (0, 8, None)
    assert p99.unmeasured == "so many messages were lost that it is beyond any response in 8 of 8 runs of B"
    assert decide(conditions(["p99:+10%"]), many).met == [f"echo: p99:+10%: {p99.unmeasured}"]
    assert decide(conditions(["p99:-10%"]), many).met == []


def test_shares_that_may_be_the_same_are_said_to_be(tmp_path):
    comparison = falling(tmp_path, 4, 1)
    assert any("1 of 4 of B; the shares may be the same" in words for words in comparison.warnings)
    assert falling(tmp_path / "none", 3, 0).points[0].unsettled is None


@pytest.mark.parametrize(
    ("a", "b", "remedy"),
    [
        (["echo"], ["kv"], "--set-b workload.0.name=echo"),
        (["echo", "kv"], ["other", "third"], "give workloads that belong together the same `name`"),
        (["echo"], ["other", "third"], "give workloads that belong together the same `name`"),
    ],
)
def test_sides_without_a_common_workload_are_refused_with_what_to_set(a, b, remedy):
    with pytest.raises(UserError, match="no workload in common") as refused:
        _check_workloads(a, b)
    assert refused.value.remedy == remedy
