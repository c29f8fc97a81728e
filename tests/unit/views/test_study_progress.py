"""What is seen while a study runs: the time to the end, lines, and a bar."""

import io

import pytest
from rich.console import Console
from scenario_tools import machine
from study_tools import HEAD, ONE_FACTOR, finished, on_paper, written

from windtunnel.engine.interrupts import Interrupts
from windtunnel.measure.executor import ThisHost
from windtunnel.measure.study.directory import Slot
from windtunnel.measure.study.forecast import BETWEEN_S, Forecast
from windtunnel.measure.study.record import record_of
from windtunnel.measure.study.study import prepare
from windtunnel.results.progress.study_progress import Bar, Lines, in_words

PLANNED_S = 0.08
"""Warm-up and measured time of a run."""


@pytest.fixture
def study(tmp_path):
    with on_paper():
        yield written(tmp_path)


@pytest.fixture
def slot(study, tmp_path):
    prepared = prepare(study, [], tmp_path / "out", ThisHost(machine()))
    record = record_of(prepared.design, prepared.executor)
    return prepared.design, lambda number, attempt=1: Slot(record.point(number), 1, attempt)


def test_forecast(slot, monkeypatch):
    design, at = slot
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    seen = Forecast(design)
    assert seen.runs == 9 and seen.left_s == pytest.approx(9 * (PLANNED_S + BETWEEN_S))
    seen.run_ended(at(1), ran_now=False)
    assert seen.left_s == pytest.approx(8 * (PLANNED_S + BETWEEN_S))
    seen.begins(at(2))
    now += PLANNED_S + 1.0
    seen.run_ended(at(2), ran_now=True)
    assert seen.left_s == pytest.approx(7 * (PLANNED_S + 1.0))
    for _ in range(7):
        seen.run_ended(at(3), ran_now=False)
    assert seen.left_s == 0
    seen.run_ended(at(3, attempt=2), ran_now=False)
    assert (seen.done, seen.runs, seen.left_s) == (10, 10, 0)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (99.4, "99 s"), (100, "2 min"), (3600, "60 min"), (11100, "3 h 05 min")],
)
def test_times_are_formatted(seconds, words):
    assert in_words(seconds) == words


def test_lines(study, tmp_path, monkeypatch):
    said = io.StringIO()
    design = prepare(study, [], tmp_path / "out").design
    finished(study, tmp_path / "out", watcher=Lines(design, Console(file=said)))
    lines = said.getvalue().splitlines()
    assert len(lines) == 9 and lines[0].startswith("1 of 9  ") and lines[-1].endswith("  0 s to go")
    monkeypatch.setenv("FAKE_ENGINE", "lose_mbufs")
    (tmp_path / "out" / "runs" / "1-inflight-32-r1").rename(tmp_path / "away")
    said = io.StringIO()
    finished(study, tmp_path / "out", watcher=Lines(design, Console(file=said)))
    lines = said.getvalue().splitlines()
    assert "runs were finished before" in "".join(lines)
    assert "invalid: ledger open: 3 mbufs missing" in lines[-1] and "1-inflight-32-r1-a2" in lines[-1]


def test_a_bar_on_a_terminal(study, tmp_path):
    said = io.StringIO()
    console = Console(file=said, force_terminal=True, width=140, color_system=None)
    prepared = prepare(study, [], tmp_path / "out")
    with Interrupts() as interrupts, Bar(prepared.design, console, interrupts) as bar:
        finished(study, tmp_path / "out", watcher=bar)
    assert "9 of 9" in said.getvalue() and "0 s to go" in said.getvalue() and "Ctrl-C stops it" in said.getvalue()


def test_metrics_that_a_study_names_are_shown(tmp_path):
    with on_paper():
        file = written(tmp_path, ONE_FACTOR, HEAD + 'metrics = ["p50"]\n')
        said = io.StringIO()
        finished(file, tmp_path / "out", watcher=Lines(prepare(file, []).design, Console(file=said)))
    assert "p50   1.50 µs" in said.getvalue() and "responses_per_s" not in said.getvalue()
