"""Intervals of a run's percentiles."""

from dataclasses import asdict

import sample_lines as sample
from sample_runs import RUNS, Page, execute
from terminal_views import printed

from windtunnel.engine.windows import Window
from windtunnel.results.page.renderer import render
from windtunnel.results.run.as_json import run_json
from windtunnel.results.run.document import run_document
from windtunnel.runs.intervals import lines, percentile_rows
from windtunnel.runs.metrics import workload_rows


def run_of(tmp_path, latencies, lost=0):
    """One with a window for each of these lists of ns."""
    plans, names = RUNS["both sides"]
    run = execute(tmp_path / "run", plans, names)
    (engine,) = run.windows
    shape = next(window for window in run.windows[engine] if window.phase == "measure")
    run.windows[engine] = [
        shape.model_copy(
            update={
                "index": n,
                "workloads": [
                    each.model_copy(update={"latency": sample.histogram(ns), "responses": len(ns), "lost": lost})
                    for each in shape.workloads
                ],
            }
        )
        for n, ns in enumerate(latencies)
    ]
    return run


def spread(seed):
    """1,000 latencies of a window, some of which are 10 times as long."""
    return [1000 + 7 * (n * seed % 101) for n in range(970 + seed % 3)] + [9000 + 100 * n for n in range(30 - seed % 3)]


def test_each_percentile_lies_in_its_interval_and_is_the_one_of_the_table(tmp_path):
    run = run_of(tmp_path, [spread(seed) for seed in range(1, 21)])
    rows = percentile_rows(run)
    assert [row.percentile for row in rows][:3] == ["p50", "p90", "p99"]
    (windows,) = run.windows.values()
    table = workload_rows(windows, ["echo"])[0].latency
    for row, ns in zip(rows, (table.p50, table.p90, table.p99), strict=False):
        assert row.low_ns <= row.ns == ns <= row.high_ns
    (words,) = lines(rows[:1])
    assert words.startswith(f"{rows[0].workload}, 95% intervals over this run's windows: p50 1.")


def test_every_view_has_the_same_intervals(tmp_path):
    run = run_of(tmp_path, [spread(seed) for seed in range(1, 21)])
    rows = percentile_rows(run)
    (words,) = lines(rows)
    assert words in printed(run_document(run), width=240)
    assert words in Page(render(run_document(run))).text
    assert run_json(run)["percentiles"] == [asdict(row) for row in rows]


def test_few_windows_have_none_and_lost_messages_bound_none(tmp_path):
    assert percentile_rows(run_of(tmp_path, [spread(1)] * 8)) == []
    losing = run_of(tmp_path / "losing", [spread(seed) for seed in range(1, 21)], lost=20)
    assert [row.percentile for row in percentile_rows(losing)] == ["p50", "p90"]


def test_more_lost_messages_than_a_counter_holds_bound_none(tmp_path):
    assert percentile_rows(run_of(tmp_path, [spread(seed) for seed in range(1, 21)], lost=10**40)) == []


def test_a_run_without_windows_has_none(tmp_path):
    run = execute(tmp_path / "run", *RUNS["both sides"])
    run.windows.update({name: [w for w in of if not isinstance(w, Window)] for name, of in run.windows.items()})
    assert percentile_rows(run) == []
