"""Results by phase of the load: which windows count, and what they add up to."""

import sample_lines as sample
from sample_runs import execute
from terminal_views import printed

from windtunnel.engine.plan import Load, Plan
from windtunnel.engine.windows import Window, WorkloadWindow
from windtunnel.results.page.renderer import render
from windtunnel.results.run.as_json import run_json
from windtunnel.results.run.document import run_document
from windtunnel.runs.phases import Timetable, load_began, phase_rows
from windtunnel.runs.registry.percentiles import Latency
from windtunnel.runs.rows import only

WINDOW = 1_000_000
START = 5_000_000
"""When the first window begins, ns since the engine's start."""


def phase(length_ns, rate=1000.0, **more) -> dict:
    return {"length_ns": length_ns, "rate_per_s": rate, "arrivals": "constant", "on_ns": None, "off_ns": None} | more


def load_of(*phases, lead=0) -> Load:
    return Load.model_validate({"mode": "open", "phases": list(phases), "lead": lead})


def plan_with(load: Load, warmup_ns=0) -> Plan:
    plan = sample.plan()
    times = plan.phases.model_copy(update={"window_ns": WINDOW, "warmup_ns": warmup_ns})
    return plan.model_copy(update={"phases": times, "workloads": [plan.workloads[0].model_copy(update={"load": load})]})


def window(begin, end, latencies=(), of="measure", **counts) -> Window:
    """A window from `begin` to `end`, ns since the first, in which answers of these latencies came."""
    zero = dict.fromkeys(("offered", "unsent", "inflight_full", "sent", "lost", "late", "duplicates", "in_flight"), 0)
    seen = sample.histogram(latencies)
    one = WorkloadWindow(
        **(zero | counts), workload=0, responses=len(latencies), latency=seen, latency_sent=seen, pacing=None
    )
    empty = dict.fromkeys(("stages", "steps", "counters", "workers", "ports", "rings", "pools"), ())
    times = {"start_ns": START + begin, "end_ns": START + end}
    return Window(type="window", index=0, phase=of, workloads=[one], **times, **empty)


def test_a_window_counts_if_it_lies_entirely_in_one_phase():
    table = Timetable(load_of(phase(30), phase(70)))
    assert [table.phase_of(*span) for span in ((0, 30), (29, 31), (30, 100), (30, 101), (100, 130), (199, 200))] == [
        *(0, None, 1, None, 0, 1),
    ]
    assert table.phase_of(0, 100) is None
    assert [table.ns_of(p, 10, 245) for p in (0, 1)] == [20 + 30 + 30, 70 + 70 + 15]


def test_the_warm_up_runs_under_the_first_phase_and_once():
    table = Timetable(load_of(phase(40), phase(30), phase(70), lead=1))
    assert [table.phase_of(*span) for span in ((10, 40), (40, 70), (70, 140), (140, 170))] == [0, 0, 1, 0]
    assert [table.ns_of(p, 0, 140) for p in (0, 1)] == [30, 70]


def test_counts_and_latencies_of_a_phase_are_those_of_its_windows_in_every_round():
    plan = plan_with(load_of(phase(2 * WINDOW), phase(WINDOW, rate=0.0)))
    windows = [
        window(0, WINDOW, [10] * 60, offered=70, unsent=9),
        window(WINDOW, 2 * WINDOW, [30] * 40, offered=50, lost=3, unsent=4),
        window(2 * WINDOW, 3 * WINDOW, [], late=2),
        window(3 * WINDOW, 4 * WINDOW, [90] * 100, offered=80, unsent=1),
    ]
    first, second = phase_rows(windows, plan)
    assert (first.phase, first.load, first.measured_s, first.counted_s) == (1, "1.00 k/s", 0.003, 0.003)
    assert first.left_out == 0
    counts = first.result
    assert (counts.offered, counts.responses, counts.lost, counts.late, counts.unsent) == (200, 200, 3, 0, 1)
    assert counts.offered_per_s == 200 / 0.003
    # 60 of 10 ns, 40 of 30 ns, 100 of 90 ns, and 3 that were lost: the 102nd is 90; an average of the windows' medians would be 43.
    assert (counts.latency.p50, counts.latency.p90, counts.latency.samples) == (90, 90, 200)
    assert (second.phase, second.load, second.result.late) == (2, "silence", 2)
    assert second.result.latency == only(Latency, samples=0)


def test_windows_across_a_boundary_are_excluded_and_their_share_reported():
    plan = plan_with(load_of(phase(5 * WINDOW // 2), phase(WINDOW), phase(WINDOW // 2)))
    windows = [window(n * WINDOW, (n + 1) * WINDOW, [10 * (n + 1)] * 10, offered=10) for n in range(4)]
    first, second, third = phase_rows(windows, plan)
    assert (first.counted_s, first.left_out, first.result.responses) == (0.002, 1 - 0.002 / 0.0025, 20)
    assert (second.result, second.counted_s, second.left_out) == (None, 0, 1)
    assert (third.result, third.measured_s) == (None, 0.0005)


def test_a_window_that_ends_a_little_late_still_counts():
    plan = plan_with(load_of(phase(WINDOW), phase(WINDOW)))

    def counted(late):
        windows = [window(0, WINDOW + late, [10] * 5), window(WINDOW + late, 2 * WINDOW + late, [20] * 5)]
        return [row.result and row.result.responses for row in phase_rows(windows, plan)]

    assert counted(WINDOW // 2000) == [5, 5]
    assert counted(WINDOW // 500) == [None, None]


def test_a_load_that_may_have_begun_late_moves_its_boundaries():
    """The first window holds the time in which a peer is looked up: the load begins after it."""
    warmups = [window(0, 1_400_000, of="warmup"), window(1_400_000, 2_400_100, of="warmup")]
    windows = [*warmups, window(2_400_100, 3_400_100)]
    plan = plan_with(load_of(phase(2 * WINDOW), phase(WINDOW), phase(WINDOW), lead=1), warmup_ns=2 * WINDOW)
    assert load_began(windows, plan) == (START, START + 400_000)
    (row,) = [row for row in phase_rows(windows, plan) if row.phase == 1]
    assert row.result is None  # it holds the window or not, according to when the load began


def test_no_phases_no_table():
    assert phase_rows([window(0, WINDOW)], plan_with(load_of(phase(None)))) == []
    assert phase_rows([window(0, WINDOW)], plan_with(load_of(phase(1), phase(None)))) == []
    assert phase_rows([window(0, WINDOW, of="warmup")], plan_with(load_of(phase(1), phase(1)))) == []
    closed = [line for line in sample.engine_lines(sample.plan()) if line.type == "window"]
    assert phase_rows(closed, sample.plan()) == []


def test_terminal_report_and_json_show_the_phases(tmp_path):
    load = load_of(
        phase(sample.WINDOW_NS * 5), phase(sample.WINDOW_NS * 7 // 2, rate=2e6, on_ns=10**7, off_ns=3 * 10**7)
    )
    run = execute(tmp_path / "run", [plan_with(load)], ["windtunnel"])
    shown, page = printed(run_document(run)), render(run_document(run))
    for text in (shown, page):
        assert "2.00 M/s, 10 ms on, 30 ms off" in text
    assert "excluded, because windows cross phases: " in shown and "Phases of the load" in page
    assert [row["phase"] for row in run_json(run)["metrics"]["phases"]] == [1, 2]
