"""Tables of the terminal: they fit, they cut no figure, and they say what a reader must know."""

import os
from dataclasses import replace

import pytest
import sample_lines as sample
import terminal_views
from sample_runs import execute

from windtunnel.engine.emulated import emulated_faults
from windtunnel.errors import UserError
from windtunnel.results.document import Column, Table
from windtunnel.results.run.stages import drop_lines, stage_table
from windtunnel.results.run.workloads import workload_table
from windtunnel.runs.latest import latest
from windtunnel.runs.metrics import stage_rows, worker_rows, workload_rows
from windtunnel.runs.notices import Notice, crowded, slow_windows
from windtunnel.runs.registry.percentiles import Latency
from windtunnel.runs.rows import only

WINDOWS = [line for line in sample.engine_lines(sample.plan()) if line.type == "window"]
HELLO = next(line for line in sample.engine_lines(sample.plan()) if line.type == "hello")
STAGES = stage_rows(WINDOWS, HELLO)


def printed(block, width: int) -> list[str]:
    return terminal_views.printed(block, width).splitlines()


def test_the_least_important_columns_are_dropped_first_and_no_number_is_cut():
    table = Table([Column("name", ["a"], words=True), Column("b", ["12345"], spare=2), Column("c", ["678"], spare=1)])
    assert [printed(table, width)[-1].split() for width in (40, 14, 8)] == [["a", "12345", "678"], ["a", "678"], ["a"]]


def test_a_column_of_dashes_is_dropped_before_one_with_numbers():
    table = Table([Column("name", ["a"], words=True), Column("b", ["–"]), Column("c", ["678"], spare=9)])
    assert [printed(table, width)[-1].split() for width in (40, 12)] == [["a", "–", "678"], ["a", "678"]]


def test_sections_are_separated():
    table = Table([Column("x", ["1", "2"])], groups=[1])
    assert [line.strip() for line in printed(table, 40)[2:]] == ["1", "", "2"]


def test_a_stage_of_many_instances_with_huge_drops_fits_64_columns():
    rows = [replace(row, instances=16, drops={"late_response": 12_345_678_901}, work_ns=98_765.4) for row in STAGES]
    for width in (64, 80, 200):
        lines = printed(stage_table(rows), width)
        assert max(map(len, lines)) <= width
        assert all("…" not in line for line in lines)
        assert sum("12,345,678,901" in line and "98,765.4" in line and "×16" in line for line in lines) == len(rows)
    assert "empty calls" in lines[0]


def test_latencies_of_seconds_and_long_names_fit_80_columns():
    times = only(Latency, p50=2_100_000_000, p90=3_000_000_000, p99=44_000_000_000, maximum=59_900_000_000, samples=9)
    row = replace(workload_rows(WINDOWS, ["w" * 64])[0], latency=times, lost=123_456_789, late=987_654_321)
    lines = printed(workload_table([row]), 80)
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert "…" not in text and "2.10 s" in text and "44.0 s" in text and "123,456,789" in text


def test_drops_are_listed_by_reason_below_their_stage():
    rows = [replace(row, drops={}) for row in STAGES]
    assert [line.text for line in drop_lines(rows)] == ["drops: none"]
    rows[0] = replace(rows[0], drops={"no_mbuf": 7, "ring_full": 1_000})
    place = f"{rows[0].endpoint} {rows[0].stage}"
    assert [line.text for line in drop_lines(rows)] == [f"drops: {place} no_mbuf 7, ring_full 1,000"]


def test_preempted_workers_give_a_warning():
    workers = [
        replace(row, preempted_share=share) for row, share in zip(worker_rows(WINDOWS), (0.5, 0.01), strict=True)
    ]
    assert list(crowded(workers)) == [
        Notice(
            "warning", f"workers were preempted on CPU {workers[0].cpu} for 50% of the time: repeat on a quieter host"
        )
    ]
    assert list(crowded([replace(row, preempted_share=None) for row in workers])) == []


def test_windows_that_lasted_too_long_give_a_warning(tmp_path):
    run = execute(tmp_path / "run", [sample.plan()], ["windtunnel"])
    engines = run.record.engines
    assert list(slow_windows(engines, run.windows)) == []
    late = [w.model_copy(update={"end_ns": w.start_ns + 3 * sample.WINDOW_NS}) for w in run.windows["windtunnel"]]
    [warning] = slow_windows(engines, {"windtunnel": late})
    assert warning.kind == "warning"
    assert warning.words.startswith("windows lasted ") and "longer windows" in warning.words


def test_open_loop_keeps_its_columns_at_80_columns():
    [row] = workload_rows(WINDOWS, ["rpc"])
    [head] = [line for line in printed(workload_table([replace(row, pacing=row.latency)]), 80) if "workload" in line]
    assert all(name in head for name in ("responses", "p99", "pacing p99", "lost", "unsent"))


def test_different_faults_have_different_labels():
    faults = {"loss": 0.01, "duplicate": 0.0, "reorder": 0.0, "reorder_depth": 1}
    both = sample.plan(faults=faults)
    assert emulated_faults([both]) == ["emulated on what client and server send: loss 1%"]
    client, server = both.endpoints
    silent = server.model_copy(update={"port": server.port.model_copy(update={"faults": None})})
    assert emulated_faults([both.model_copy(update={"endpoints": [client, silent]})]) == [
        f"emulated on what the {client.side} sends: loss 1%"
    ]


def test_the_latest_run_is_the_one_written_last(tmp_path):
    with pytest.raises(UserError, match="no run below"):
        latest(tmp_path)
    for age, name in enumerate(("b", "a", "c")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").touch()
        os.utime(tmp_path / name / "run.json", (1000 - age, 1000 - age))
    (tmp_path / "no-run").mkdir()
    assert latest(tmp_path) == tmp_path / "b"
