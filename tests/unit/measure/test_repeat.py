"""Medians of repeated runs, and how well they are known."""

from types import SimpleNamespace

import pytest

from windtunnel.measure.compare.reading import MAX_NOT_FORWARDED
from windtunnel.measure.repeat import Repeated, _repeated
from windtunnel.stats.median import LEAST_RUNS, interval, least_at_any_look

NEAR, FAR = ("one-l3", 91.0), ("two-l3s", 425.0)


def reading(value, where=NEAR, reasons=(), metric="responses_per_s", mode="closed"):
    return SimpleNamespace(
        path=f"runs/{value}",
        reasons=list(reasons),
        state=where[0],
        line_ns=where[1],
        modes={"echo": mode},
        values={("echo", metric): value},
        not_forwarded={},
    )


def found(readings, until=None, stopped="all run") -> Repeated:
    return _repeated("here", readings, until, 30, stopped)


def middle(repeated, state=0):
    (only,) = repeated.states[state].metrics
    return only


@pytest.mark.parametrize("count", range(1, LEAST_RUNS))
def test_too_few_runs_have_no_interval(count):
    assert interval([1.0] * count) == (None, None)
    assert found([reading(1e6)] * count, until=0.5).off is None


def test_runs_that_end_by_what_they_show_have_the_interval_of_all_looks():
    readings = [reading(100.0 + n) for n in range(least_at_any_look())]
    assert middle(found(readings)).low == 100.0 and middle(found(readings[:-1])).low == 100.0
    assert middle(found(readings, 0.5)).low == 100.0 and middle(found(readings[:-1], 0.5)).low is None


def test_the_median_is_of_one_state():
    repeated = found([*[reading(25e6 + n) for n in range(7)], *[reading(12e6 + n, FAR) for n in range(3)]])
    assert [(state.state, state.runs) for state in repeated.states] == [("one-l3", 7), ("two-l3s", 3)]
    assert middle(repeated).median == 25e6 + 3 and (middle(repeated).least, middle(repeated).most) == (25e6, 25e6 + 6)
    assert middle(repeated, 1).median == 12e6 + 1 and middle(repeated, 1).low is None


def test_invalid_runs_are_in_no_median():
    repeated = found([*[reading(25e6)] * 6, reading(1.0, reasons=["ledger open"])])
    assert repeated.states[0].runs == 6 and repeated.off == 0 and repeated.runs[-1].reasons == ["ledger open"]


@pytest.mark.parametrize(("until", "expected"), [(0.02, False), (0.03, True)])
def test_the_farther_end_of_the_interval_decides(until, expected):
    """Of eight runs the interval is from the least to the greatest: 3% above the median, 1% below."""
    repeated = found([reading(v) for v in (99.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 103.0)], until)
    assert repeated.off == pytest.approx(0.03) and repeated.reached is expected


def test_of_several_workloads_the_widest_interval_decides():
    runs = [reading(100.0) for _ in range(8)]
    for run, more in zip(runs, (-5, 0, 0, 0, 0, 0, 0, 5), strict=True):
        run.modes["kv"], run.values["kv", "responses_per_s"] = "closed", 100.0 + more
    repeated = found(runs, 0.02)
    assert [each.off for each in repeated.states[0].metrics] == [0, pytest.approx(0.05)] and not repeated.reached


def test_the_metric_is_the_one_that_compare_decides_by():
    repeated = found([reading(9000.0, metric="p99", mode="open")] * 6)
    assert (middle(repeated).metric, middle(repeated).unit) == ("p99", "ns")
    late = reading(9e5, mode="open")
    for share, metric in ((MAX_NOT_FORWARDED + 1e-9, "responses_per_s"), (MAX_NOT_FORWARDED, "p99")):
        late.values["echo", metric] = 9000.0
        late.not_forwarded["echo"] = share
        assert middle(found([late] * 6)).metric == metric


def test_exit_codes():
    good, bad = [reading(100.0)] * 8, [reading(1.0, reasons=["ledger open"])] * 2
    assert found(good).exit_code == 0 and found(good, 0.02, "reached").exit_code == 0
    assert found(good[:5], 0.02).exit_code == 3 and found(good[:5]).exit_code == 0
    assert found(bad).exit_code == found(bad, 0.02).exit_code == 1
    assert found(good[:2], 0.02, "interrupted").exit_code == 130
