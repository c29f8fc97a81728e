"""Remedies that are tried: each against the file, with what it brought beside what was predicted."""

from datetime import UTC, datetime

import pytest
from diagnosed_runs import made

from windtunnel.errors import UserError
from windtunnel.measure.compare.comparison_record import Comparison, Interval, Judged, Measure, PairedRuns, Point
from windtunnel.parts.diagnose import tried
from windtunnel.parts.diagnose.diagnose import diagnose


def comparison(verdict="faster", percent=30.0, reasons=(), stopped="all run"):
    interval = Interval(
        method="paired", a=1.0, b=1.3, percent=percent, low=percent - 2, high=percent + 2, joint_low=percent - 2, joint_high=percent + 2, smallest=1.0, effect=1.0, p=0.0,
        p_corrected=0.0,
    )  # fmt: skip
    rate = Measure(
        workload="echo", metric="responses_per_s", unit="/s", better="higher", a=[1.0], b=[1.3],
        interval=None if reasons else interval, unmeasured="too few" if reasons else None, shown=True,
    )  # fmt: skip
    judged = Judged(workload="echo", verdict=verdict, reasons=list(reasons), decided_by="responses_per_s", because=None)
    point = Point(
        factors={}, differences=[], runs=[], in_turn=True, states=[], dropped=0, judged=[judged], measures=[rate]
    )
    paired_runs = PairedRuns(pairs_wanted=8, pairs=8, seed=1, change="window", stopped=stopped)
    return Comparison(
        made=datetime.now(UTC), windtunnel="0", a="a", b="b", level=0.01, between_runs=0.05, paired_runs=paired_runs, points=[point],
        whole=[], warnings=[],
    )  # fmt: skip


@pytest.fixture
def compared(monkeypatch):
    """What compare was asked for; its results are taken from the list."""
    asked, results = [], []

    def compare(a, b, running, directory, announce):
        asked.append((a, b, running, directory))
        result = results.pop(0)
        if isinstance(result, UserError):
            raise result
        return result, directory

    monkeypatch.setattr(tried, "compare", compare)
    return asked, results


FOUND = diagnose(made(client=0.8, server=0.6, loads={"lost": 50}))


def test_the_first_causes_are_compared_with_the_file(compared, tmp_path):
    asked, results = compared
    results += [comparison(), comparison("no difference shown", 0.5)]
    rows = tried.try_remedies(FOUND, tmp_path / "s.toml", ["duration=1s"], 2, tmp_path / "t")
    codes = [cause.code for cause in FOUND.causes if cause.sets][:2]
    assert [row.code for row in rows] == codes and len(codes) == 2
    for (a, b, running, directory), cause in zip(asked, FOUND.causes, strict=False):
        assert a == b == tmp_path / "s.toml" and directory == tmp_path / "t" / cause.code
        assert (running.sets, running.sets_a, running.sets_b) == (["duration=1s"], (), cause.sets)
    first, second = rows
    assert (first.verdict, first.percent, first.low, first.high) == ("faster", 30.0, 28.0, 32.0)
    assert first.predicted == FOUND.causes[0].gain and second.verdict == "no difference shown"


@pytest.mark.parametrize(
    ("result", "most", "verdict", "percent"),
    [
        (comparison(), 1, "faster", 30.0),
        (UserError("client.inflight=4096: too many"), 1, "refused: client.inflight=4096: too many", None),
        (comparison("cannot tell", reasons=["no common state"]), 1, "cannot tell: no common state", None),
        (comparison(stopped="interrupted"), 2, "faster", 30.0),  # by the user: no further one is run
    ],
)
def test_a_row_says_what_came_of_it_and_no_more_are_tried_than_asked_for(
    compared, tmp_path, result, most, verdict, percent
):
    asked, results = compared
    results.append(result)
    (row,) = tried.try_remedies(FOUND, tmp_path, [], most, tmp_path / "t")
    assert (row.verdict, row.percent, row.interrupted, len(asked)) == (verdict, percent, most == 2, 1)
    assert (row.directory is None) == verdict.startswith("refused")


def test_runs_that_cannot_be_compared_are_no_refusal(compared, tmp_path):
    code = next(cause.code for cause in FOUND.causes if cause.sets)
    (tmp_path / "t" / code).mkdir(parents=True)
    compared[1].append(UserError("stopped before both scenarios had run"))
    with pytest.raises(UserError, match="stopped before"):
        tried.try_remedies(FOUND, tmp_path, [], 1, tmp_path / "t")
