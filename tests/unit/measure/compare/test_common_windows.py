"""Pairs of runs that alternated by windows: what the host does to a window of one run it often does to its neighbour of the other."""

import json
from datetime import datetime, timedelta

import pytest
from comparing import compared, in_state, made

from windtunnel.measure.compare.points import Point, with_common_windows
from windtunnel.measure.compare.reading import read
from windtunnel.runs.validity import ExcludedWindow

METRIC = "responses_per_s"
WINDOWS = 8
DIP = 3
"""Place of the window in which the host took half of the time, from both."""


def alternating(directory, at_s=0.0, excluded=(), finished=True, invalid=None):
    """A run of which one window is half as fast, and of which these are excluded."""
    path = made(directory, 6.0, at_s, invalid=invalid)
    lines = [json.loads(line) for line in (path / "windows.jsonl").read_text().splitlines()]
    measured = [line for line in lines if line["phase"] == "measure"]
    for workload in measured[DIP]["workloads"]:
        workload["responses"] //= 2
    (path / "windows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    record = json.loads((path / "run.json").read_text())
    out = [ExcludedWindow(engine="windtunnel", window=measured[n]["index"], reasons=["preempted"]) for n in excluded]
    record["validity"] = json.loads(in_state("one-l3").model_copy(update={"excluded": out}).model_dump_json())
    began = datetime.fromisoformat(record["started"])
    record["finished"] = (began + timedelta(seconds=10)).isoformat() if finished else None
    (path / "run.json").write_text(json.dumps(record))
    return path


def rate(reading):
    (value,) = [value for (_, metric), value in reading.values.items() if metric == METRIC]
    return value


def alone(a, b):
    """How far B is from A by all windows that count in either."""
    return rate(read(b)) / rate(read(a)) - 1


def difference(a, b):
    point = with_common_windows(Point((), [read(a)], [read(b)]))
    return rate(point.b[0]) / rate(point.a[0]) - 1


def test_a_window_that_is_excluded_in_one_counts_in_neither(tmp_path):
    a, b = alternating(tmp_path / "a", excluded=[DIP]), alternating(tmp_path / "b", 1)
    assert alone(a, b) < -0.03
    assert abs(difference(a, b)) < 0.005 and abs(difference(b, a)) < 0.005


def test_the_places_of_both_are_left_out(tmp_path):
    a, b = alternating(tmp_path / "a", excluded=[0]), alternating(tmp_path / "b", 1, excluded=[5])
    assert read(a).excluded == {0} and read(b).excluded == {5}
    point = with_common_windows(Point((), [read(a)], [read(b)]))
    same = alternating(tmp_path / "same", excluded=[0, 5])
    assert point.a[0].values == point.b[0].values == read(same).values


@pytest.mark.parametrize("later", [{"at_s": 11}, {"at_s": 1, "finished": False}])
def test_runs_one_after_the_other_are_compared_as_they_are(tmp_path, later):
    a, b = alternating(tmp_path / "a", excluded=[DIP]), alternating(tmp_path / "b", **later)
    assert difference(a, b) == alone(a, b) < -0.03


def test_runs_without_a_common_window_are_compared_as_they_are(tmp_path):
    a, b = alternating(tmp_path / "a", excluded=[0]), alternating(tmp_path / "b", 1, excluded=range(1, WINDOWS))
    assert difference(a, b) == alone(a, b)


def test_an_invalid_run_has_no_partner(tmp_path):
    a, b = alternating(tmp_path / "a", excluded=[DIP]), alternating(tmp_path / "b", 1, invalid="ledger open")
    point = with_common_windows(Point((), [read(a)], [read(b)]))
    assert (point.a, point.b) == ([read(a)], [read(b)])


def test_a_comparison_is_of_common_windows(tmp_path):
    """The window is excluded in every run of A: without its partners, B would be shown to be slower."""
    for n in range(10):
        alternating(tmp_path / "a" / f"{n:02}", 30 * n, excluded=[DIP])
        alternating(tmp_path / "b" / f"{n:02}", 30 * n + 1)
    (measure,) = [m for m in compared(tmp_path / "a", tmp_path / "b").points[0].measures if m.metric == METRIC]
    assert measure.interval is not None and abs(measure.interval.percent) < 0.5 and not measure.shown
