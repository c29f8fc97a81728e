"""Steps of handlers and what handlers count: from the engine's lines to rows, tables and the page."""

import pytest
import sample_lines as sample
from plugin_tools import built
from real_runs import assert_sound, execute, scenario
from sample_windows import HELLO, stage, window, worker
from terminal_views import printed

from windtunnel.engine.lines import Ready
from windtunnel.engine.windows import HandlerCounterWindow, StageWindow, StepWindow
from windtunnel.results.charts.steps import steps as plot
from windtunnel.results.page.renderer import render
from windtunnel.results.run.document import run_document
from windtunnel.results.run.handlers import counter_table, step_table
from windtunnel.runs import metrics
from windtunnel.runs.steps import counter_rows, step_rows
from windtunnel.runs.summary import summarise

READY = next(line for line in sample.engine_lines(sample.plan()) if isinstance(line, Ready))
TICK_NS = 0.5
"""HELLO's clock has 2 GHz."""


def step(
    name: str, cycles: int, packets: int, *, stamps: int = 10, traffic: bool = False, index: int = 0, **more
) -> StepWindow:
    place = {"endpoint": "server", "stage": "disp_rx", "index": index, "worker": index}
    return StepWindow(step=name, cycles=cycles, packets=packets, stamps=stamps, traffic=traffic, **place, **more)


def counter(name: str, value: int, *, kind: str = "count", of: str = "flows", index: int = 0) -> HandlerCounterWindow:
    place = {"endpoint": "server", "stage": "disp_rx", "index": index}
    return HandlerCounterWindow(name=name, of=of, value=value, kind=kind, unit="lookups", **place)


def finished(steps, counters=(), **more):
    """A window of a dispatcher that worked 10,000 ticks on 100 timed packets."""
    counted = stage(stage="disp_rx", calls=50, objects=400, timed_calls=10, timed_objects=100, busy_cycles=10_000)
    made = window([counted], [worker(timed_cycles=20_000)])
    return made.model_copy(update={"steps": list(steps), "counters": list(counters)} | more)


def test_steps_follow_the_formulas():
    steps = [step("parser", 1000, 100), step("flows", 4000, 50), step("frames", 800, 100, traffic=True)]
    windows = [finished(steps)] * 2
    parser, flows, frames = step_rows(windows, HELLO, READY)
    assert (parser.step, flows.step, frames.step) == ("parser", "flows", "frames")
    assert parser.stage_ns == parser.ns == 10 * TICK_NS
    assert (flows.stage_ns, flows.ns) == (40 * TICK_NS, 80 * TICK_NS)
    assert (parser.share, flows.share, frames.share) == (0.1, 0.4, None)
    assert (flows.packets_share, frames.packets_share) == (0.5, 1.0)
    assert parser.stamp_ns == pytest.approx(10 * READY.stamp_ticks * TICK_NS / 100)
    assert step_rows(windows, HELLO, None)[0].stamp_ns is None


def test_the_share_is_of_what_the_stage_worked():
    """Its stalls are no work."""
    (row,) = step_rows([finished([step("parser", 1000, 100)])], HELLO, READY)
    made = finished([step("parser", 1000, 100)])
    (counted,) = made.stages
    stalled = made.model_copy(update={"stages": [counted.model_copy(update={"stall_cycles": 5000})]})
    (beside,) = step_rows([stalled], HELLO, READY)
    assert (row.share, beside.share, beside.stage_ns) == (0.1, 0.2, row.stage_ns)


def test_a_copier_and_a_handler_may_have_steps_of_one_name():
    windows = [finished([step("submit", 1000, 100), step("submit", 4000, 50, copier=True)])] * 2
    own, copiers = step_rows(windows, HELLO, READY)
    assert (own.copier, own.stage_ns, copiers.copier, copiers.stage_ns) == (False, 10 * TICK_NS, True, 40 * TICK_NS)
    assert (own.label, copiers.label) == ("submit", "submit (copier)")
    assert [bar["name"] for bar in plot([own, copiers])["data"]] == ["submit", "submit (copier)"]


def test_steps_of_nothing_are_not_zero():
    (row,) = step_rows([finished([step("parser", 0, 0, stamps=0)])], HELLO, READY)
    assert row.ns is None and row.stamp_ns is None and row.stage_ns == 0
    assert step_rows([finished([step("parser", 5, 5)], phase="drain")], HELLO, READY) == []


def test_instances_without_these_steps_are_not_counted():
    """Two dispatchers, of which one has another handler: its packets never could go through the step."""
    other = stage(stage="disp_rx", index=1, worker=1, timed_objects=900, busy_cycles=90_000)
    one = finished([step("parser", 1000, 100)])
    (row,) = step_rows([one.model_copy(update={"stages": [*one.stages, other]})], HELLO, READY)
    assert row.stage_ns == 10 * TICK_NS and row.share == 0.1


class ReadOnce(StageWindow):
    """A stage that counts how often its objects are asked for."""

    def __getattribute__(self, name):
        if name == "timed_objects":
            ASKED.append(name)
        return super().__getattribute__(name)


ASKED = []


def test_a_stage_is_summed_once_however_many_steps_it_has():
    made = finished([step(f"step-{n}", 100, 10) for n in range(300)])
    (counted,) = made.stages
    windows = [made.model_copy(update={"stages": [ReadOnce(**dict(counted))]})] * 2
    rows = step_rows(windows, HELLO, READY)
    assert len(rows) == 300 and {row.stage_ns for row in rows} == {TICK_NS} and len(ASKED) == 2


def test_own_traffic_has_a_share_of_the_worker():
    counted = stage(stage="disp_rx", busy_cycles=5000, idle_cycles=1000, traffic_cycles=4000)
    (row,) = metrics.worker_rows([window([counted], [worker(timed_cycles=10_000)])])
    assert (row.work_share, row.idle_share, row.traffic_share) == (0.5, 0.1, 0.4)


def test_counts_add_up_and_levels_do_not():
    first = [counter("hits", 30), counter("hits", 12, index=1), counter("entries", 7, kind="level")]
    second = [counter("hits", 8), counter("entries", 9, kind="level"), counter("entries", 1, kind="level", index=1)]
    hits, entries = counter_rows([finished([], first), finished([], second)])
    assert (hits.value, hits.per_s) == (50, 25.0)
    assert (entries.value, entries.per_s) == (10, None)


def test_tables_name_steps_outside_the_stage():
    rows = step_rows([finished([step("frames", 800, 100, traffic=True), step("parser", 1000, 100)])], HELLO, READY)
    text = printed(step_table(rows), 200)
    assert "separate" in text and "server disp_rx" in text and text.count("server") == 1
    counted = [counter("hits", 30), counter("wrong", 3, kind="wrong")]
    text = printed(counter_table(counter_rows([finished([], counted)])), 200)
    assert text.count("flows") == 1 and "wrong" in text and "30.0 /s" in text


def test_plot_excludes_traffic_and_escapes_names():
    rows = step_rows([finished([step("frames", 800, 100, traffic=True), step("<b>", 1000, 100)])], HELLO, READY)
    chart = plot(rows)
    assert [bar["name"] for bar in chart["data"]] == ["&lt;b&gt;"]
    assert plot([row for row in rows if row.traffic]) is None


def of_plugin(directory, level="sampled", **more):
    """A run of a plug-in with steps on frames from nowhere, by the real engine."""
    workload = {"packet_handler": f"./{built(directory, 'steps').name}"} | more
    data = scenario(workload, wire={"kind": "null"}, server={}, accounting={"level": level})
    return execute(directory, data).run


@pytest.mark.slow
def test_run_steps_are_within_their_stage(tmp_path):
    run = of_plugin(tmp_path, "cycles")
    assert_sound(run)
    windows = [w for w in run.windows["windtunnel"] if w.phase == "measure"]
    for w in windows:
        (disp,) = [s for s in w.stages if s.stage == "disp_rx"]
        steps = {s.step: s for s in w.steps}
        assert list(steps) == ["frames", "look", "send"]
        assert disp.traffic_cycles == steps["frames"].cycles > 0
        assert steps["look"].cycles + steps["send"].cycles < disp.busy_cycles
        assert steps["frames"].packets == steps["send"].packets == disp.timed_objects
        assert 0 < steps["look"].packets < disp.timed_objects
        assert len({s.stamps for s in w.steps}) == 1
    result = run.record.engines[0].result
    seen = next(f.value for f in result.counters if f.name == "seen")
    assert seen == sum(s.objects for w in run.windows["windtunnel"] for s in w.stages if s.stage == "disp_rx")
    summary = summarise(run)
    assert [row.step for row in summary.steps] == ["frames", "look", "send"]
    page = render(run_document(run))
    assert (
        '<section id="steps-of-the-handlers">' in page
        and "ns per packet" in page
        and "Counters of the handlers" in page
    )


@pytest.mark.slow
@pytest.mark.parametrize("level", ["counts", "off"])
def test_levels_without_cycles_have_no_steps(tmp_path, level):
    run = of_plugin(tmp_path, level)
    assert not any(w.steps for w in run.windows["windtunnel"])
    assert any(f.name == "seen" and f.value for w in run.windows["windtunnel"] for f in w.counters)
    assert "Steps of the handlers" not in render(run_document(run))


@pytest.mark.slow
def test_wrong_handler_results_make_the_run_invalid(tmp_path):
    run = of_plugin(tmp_path, options={"wrong": 3})
    assert run.record.verdict.reasons == ["handler wrong: wrong of table: 3 packets (disp_rx:0)"]
