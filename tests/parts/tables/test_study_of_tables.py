"""What a study of tables shows beside its curves: the published model, boxes with their baseline, percentile curves."""

import pytest
import sample_lines as sample
from report_plots import plots
from scenario_tools import machine
from study_tools import on_paper, written

from windtunnel.measure.executor import ThisHost
from windtunnel.measure.study.columns import COLUMNS
from windtunnel.measure.study.record import record_of
from windtunnel.measure.study.study import Study, prepare
from windtunnel.results.charts import references, study_latency
from windtunnel.results.page.renderer import render
from windtunnel.results.study import study_document
from windtunnel.runs import path
from windtunnel.runs.rows import StageRow, StepRow, WorkerRow, only

SCENARIO = """# What does a lookup cost?
[[workload]]
packet_handler = "match_action"
[[workload.table]]
entries = 10
"""
HEAD = """# How does it grow?
scenario = "echo.toml"
repeats = 1
metrics = ["server_derived_mpps", "p99"]
latency = ["boxes", "percentiles"]
reference = "thesis exact"
"""
ENTRIES = '[[factor]]\nname = "entries"\nkey = "workload.0.table.0.entries"\nvalues = [1, 1000, 100000]\n'
CORES = """[[factor]]
name = "cores"
keys = ["client.cores", "server.cores", "workload.0.dispatchers"]
labels = [1, 2]
values = [[[0], [0], 1], [[0, 1], [0, 1], 2]]
"""


@pytest.fixture
def study(tmp_path) -> Study:
    return finished(tmp_path, ENTRIES + CORES)


def finished(tmp_path, factors: str) -> Study:
    with on_paper():
        file = written(tmp_path, factors, HEAD, SCENARIO)
        here = ThisHost(machine())
        record = record_of(prepare(file, [], tmp_path / "out", here).design, here)
    known = {
        "repeat": 1,
        "attempt": 1,
        "valid": True,
        "reasons": [],
        "relaxed": [],
        "server_derived_mpps": 5.0,
        "p99": 9000,
    }
    rows = [dict.fromkeys(COLUMNS) | p.cells | known | {"point": p.number, "directory": p.name} for p in record.points]
    return Study(tmp_path / "out", record, rows, False)


@pytest.fixture
def found(study) -> dict:
    """Latencies of 10 µs a core, and those of 1000 entries a little above."""
    cells = {point.number: point.cells for point in study.record.points}
    return {
        number: sample.histogram([10_000 * int(c["cores"]) + 10 * n + c["entries"] % 7 for n in range(200)])
        for number, c in cells.items()
    }


def test_the_published_model():
    assert references.thesis_exact(1, 1) == pytest.approx(6.18, abs=0.005)
    assert references.thesis_exact(1, 2) == pytest.approx(12.4, abs=0.05)
    assert references.thesis_exact(1, 8) == references.LINE_RATE_MPPS
    within, beyond = references.thesis_exact(1.4e5, 1), references.thesis_exact(1.7e5, 1)
    assert within == pytest.approx(4.98, abs=0.01) and beyond < 4.9
    assert references.thesis_exact(1e7, 1) == pytest.approx(2.71, abs=0.01)


def test_the_published_model_is_drawn_over_entries_only(study, found, monkeypatch):
    monkeypatch.setattr(study_latency, "histograms", lambda study: found)
    page = render(study_document(study))
    drawn = plots(page)
    named = [[trace.get("name") for trace in plot["data"]] for plot in drawn.values()]
    assert sum("thesis exact, cores 1" in names for names in named) == 1
    assert sum("thesis exact, cores 2" in names for names in named) == 1
    assert "Endraß" in page and "on another machine" in page
    assert "misses of the last-level cache" in page and ("not available" in page or "not measured" in page)
    assert any(plot["layout"]["xaxis"].get("type") == "log" for plot in drawn.values())


def test_the_baseline_is_fitted_to_the_medians(study, found):
    constant, slope = study_latency.baseline(study, found)
    assert slope == pytest.approx(10_000, rel=0.01) and constant == pytest.approx(1000, abs=100)
    assert "+ 10.0 µs × c" in study_latency.caption(study, found)
    one = {number: h for number, h in found.items() if study.record.point(number).cells["cores"] == 1}
    assert study_latency.baseline(study, one) is None and "not fitted" in study_latency.caption(study, one)


def test_boxes_are_grouped_by_cores(study, found):
    plot = study_latency.boxes(study, found)
    first, second, line = plot["data"]
    assert (first["name"], second["name"], line["name"]) == ("1 core", "2 cores", "L(c)")
    assert first["x"] == ["1 · 1 c", "1000 · 1 c", "100000 · 1 c"]
    for box in (first, second):
        order = (box[key] for key in ("lowerfence", "q1", "median", "q3", "upperfence"))
        assert all(list(five) == sorted(five) for five in zip(*order, strict=True))
    assert study_latency.boxes(study, {}) is None


def test_a_cores_factor_without_counts_is_an_ordinary_factor(tmp_path, monkeypatch):
    study = finished(tmp_path, ENTRIES + CORES.replace("[1, 2]", '["one", "<two>"]'))
    found = {point.number: sample.histogram([10_000, 20_000]) for point in study.record.points}
    monkeypatch.setattr(study_latency, "histograms", lambda study: found)
    boxes = study_latency.boxes(study, found)
    assert [trace["name"] for trace in boxes["data"]] == ["responses"]
    assert boxes["data"][0]["x"][:2] == ["1 · one", "1 · &lt;two&gt;"]
    assert boxes["layout"]["xaxis"]["title"]["text"] == "entries · cores"
    assert "not fitted" in study_latency.caption(study, found) and "thesis exact, cores 1" in render(
        study_document(study)
    )


def test_percentile_curves_have_distinct_styles(study, found):
    plot = study_latency.percentile_curves(study, found)
    styles = {(trace["line"]["color"], trace["line"]["dash"]) for trace in plot["data"]}
    assert len(styles) == len(plot["data"]) == 6
    assert study_latency.percentile_curves(study, {}) is None


def stage(name: str, work: float | None, instances: int = 1) -> StageRow:
    return only(StageRow, endpoint="server", stage=name, work_ns=work, stall_ns=0.0, instances=instances)


def test_packet_cost_excludes_stamps_and_traffic():
    stages = [stage("nic_rx", 5.0), stage("disp_rx", 40.0), stage("nic_tx", 5.0)]
    step = only(StepRow, endpoint="server", stage="disp_rx", traffic=False, stamp_ns=1.0, packets_share=0.5)
    traffic = only(StepRow, endpoint="server", stage="disp_rx", traffic=True, stamp_ns=1.0, packets_share=1.0)
    assert path.packet_ns(stages, [step, step, traffic]) == 49.0
    assert path.packet_ns([*stages, stage("disp_tx", None)], []) is None and path.packet_ns([], []) is None


def test_derived_throughput_is_shown_only_if_computable():
    stages = [stage("nic_rx", 5.0, 2), stage("disp_rx", 45.0, 2)]
    mine = only(WorkerRow, sides="server")
    both = only(WorkerRow, sides="server + client")
    assert path.derived_mpps(stages, [], [mine], "server") == 20.0
    assert path.derived_mpps(stages, [], [mine, mine], "server") == 40.0
    assert path.derived_mpps(stages, [], [mine, both], "server") is None
    assert path.derived_mpps(stages, [], [mine, mine, mine], "server") is None
    assert path.derived_mpps([stage("nic_rx", 5.0, 1), stage("disp_rx", 45.0, 2)], [], [mine], "server") is None
