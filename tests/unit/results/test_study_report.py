"""What is made of a study's numbers: findings that the data bear, and the picture for each number of factors."""

import random

import pytest
from report_plots import plots
from scenario_tools import machine
from study_tools import HEAD, on_paper, written
from terminal_views import printed

from windtunnel.measure.executor import ThisHost
from windtunnel.measure.study.columns import COLUMNS, METRICS
from windtunnel.measure.study.findings import Sample, find, samples
from windtunnel.measure.study.record import record_of
from windtunnel.measure.study.study import Study, prepare
from windtunnel.results import study_metrics
from windtunnel.results.charts import study_latency
from windtunnel.results.page.renderer import render
from windtunnel.results.study import MOST_ROWS, study_document
from windtunnel.results.study_sentences import findings

ONE = '[[factor]]\nkey = "client.inflight"\nlog = {from = 32, to = 512, points = 5}\n'
TWO = ONE + '[[factor]]\nname = "batch"\nkey = "server.batch.app_rx"\nvalues = [8, 32, 33]\n'
HANDLER = '[[factor]]\nkey = "workload.0.handler"\nvalues = ["l_app", "m_app"]\n'
SIZE = '[[factor]]\nkey = "workload.0.request"\nname = "<b>size"\nvalues = ["64B", "128B"]\n'.replace("<b>", "")


def made(directory, factors: str, head: str = HEAD, value=None, workloads=("l_app",)) -> Study:
    """A study with made-up rows: `value` of a point's cells and the repeat, None where the run was invalid."""
    with on_paper():
        prepared = prepare(written(directory, factors, head), [], directory / "out", ThisHost(machine()))
        record = record_of(prepared.design, prepared.executor)
    rows = []
    for point in record.points:
        for repeat in range(1, record.repeats + 1):
            number = 1e6 if value is None else value(point.cells, repeat)
            known = {
                "point": point.number,
                "repeat": repeat,
                "attempt": 1,
                "directory": f"runs/{point.name}-r{repeat}",
            }
            known |= {
                "valid": number is not None,
                "reasons": [] if number is not None else ["<i>broken</i>: words"],
                "relaxed": [],
            }
            seen = {"responses_per_s": number, "p99": None if number is None else int(1e12 / number)}
            rows += [dict.fromkeys(COLUMNS) | point.cells | known | seen | {"workload": w} for w in workloads]
    return Study(directory / "out", record, rows, False)


def test_one_factor_is_a_curve_with_every_run(tmp_path):
    study = made(tmp_path, ONE, value=lambda cells, repeat: cells["inflight"] * 1e3 + repeat)
    page = render(study_document(study))
    throughput, latency = plots(page).values()
    band, line, runs = throughput["data"]
    assert line["x"] == [32, 64, 128, 256, 512] and line["y"] == [x * 1e3 + 2 for x in line["x"]]
    assert len(runs["x"]) == 15 and band["fill"] == "toself"
    assert band["y"] == [x * 1e3 + 3 for x in line["x"]] + [x * 1e3 + 1 for x in line["x"][::-1]]
    assert throughput["layout"]["xaxis"]["type"] == "log" and latency["layout"]["yaxis"]["type"] == "log"
    assert "n = 15 runs of 5 points" in page and "invalid runs excluded: 0" in page
    assert "Content-Security-Policy" in page and "http://" not in page.split("<script>")[0]


def test_what_constraints_leave_out_is_a_note(tmp_path):
    head = HEAD + 'constraints = ["inflight >= 16 * batch", "batch <> 33"]\n'
    study = made(tmp_path, TWO, head)
    sentence = "11 of 15 combinations are left out by constraints: inflight &gt;= 16 * batch; batch &lt;&gt; 33"
    assert sentence in render(study_document(study))
    (tmp_path / "all").mkdir()
    assert "left out by constraints" not in render(study_document(made(tmp_path / "all", TWO)))


@pytest.mark.parametrize(("furthest", "kind"), [(99, None), (100, "log")])
def test_costs_that_span_powers_of_ten_have_a_logarithmic_axis(tmp_path, furthest, kind):
    study = made(tmp_path, ONE, HEAD + 'metrics = ["server_packet_ns"]\n')
    for row in study.rows:
        row["server_packet_ns"] = 50.0 * (furthest if row["inflight"] == 512 else 1)
    (plot,) = plots(render(study_document(study))).values()
    assert plot["layout"]["yaxis"].get("type") == kind


def test_two_factors_are_a_heat_map_and_curves(tmp_path):
    study = made(tmp_path, TWO, value=lambda cells, repeat: cells["inflight"] * cells["batch"])
    heat, curves, *_ = plots(render(study_document(study))).values()
    assert heat["data"][0]["type"] == "heatmap"
    assert heat["data"][0]["x"] == ["32", "64", "128", "256", "512"] and heat["data"][0]["y"] == ["8", "32", "33"]
    assert heat["data"][0]["z"] == [[x * y for x in (32, 64, 128, 256, 512)] for y in (8, 32, 33)]
    assert [t["name"] for t in curves["data"] if t["mode"] == "lines+markers"] == ["batch 8", "batch 32", "batch 33"]


@pytest.mark.parametrize(("factors", "panels"), [(TWO + HANDLER, 2), (TWO + HANDLER + SIZE, 4)])
def test_three_factors_and_more_are_small_multiples(tmp_path, factors, panels):
    study = made(tmp_path, factors, HEAD + "repeats = 1\n")
    page = render(study_document(study))
    multiples = next(iter(plots(page).values()))
    assert len(multiples["layout"]["annotations"]) == panels
    assert len(multiples["data"]) == 3 * panels
    axes = {trace["yaxis"] for trace in multiples["data"]}
    assert len(axes) == panels and all(f"yaxis{axis[1:]}" in multiples["layout"] for axis in axes)
    assert "the spread is not known" in page


def test_a_factor_with_one_level_is_named_and_not_drawn(tmp_path):
    study = made(tmp_path, ONE + '[[factor]]\nkey = "server.cores"\nvalues = [[0], [600]]\n')
    running = [row for row in study.rows if row["cores"] == "[0]"]
    page = render(study_document(Study(study.path, study.record, running, False)))
    assert "only cores [0] was run" in page and "CPU 600 does not exist" in page
    assert len(next(iter(plots(page).values()))["data"]) == 3


def test_invalid_runs_are_excluded_and_listed(tmp_path):
    study = made(tmp_path, ONE, value=lambda cells, repeat: None if cells["inflight"] == 64 or repeat == 2 else 1e6)
    page = render(study_document(study))
    assert study.invalid == 7
    assert "invalid runs excluded: 7" in page and "n = 8 runs of 4 points" in page
    assert "&lt;i&gt;broken&lt;/i&gt;" in page and "<i>broken" not in page
    assert next(iter(plots(page).values()))["data"][1]["x"] == [32, 128, 256, 512]


def test_rejected_metrics_that_were_asked_for_are_counted(tmp_path):
    study = made(tmp_path, ONE)
    for row in study.rows[:2]:
        row |= {
            "valid": False,
            "reasons": ["steady: fell"],
            "measured_s": 1.0,
            "relaxed": ["max_drift 50% instead of 10%"],
        }
    page = render(study_document(study))
    assert (study.invalid, study.included) == (2, 2)
    assert "invalid runs excluded: 0" in page and "invalid runs included: 2" in page and "n = 15 runs" in page
    assert "limits relaxed: max_drift 50% instead of 10%" in page


def test_a_study_without_a_valid_run_has_a_page(tmp_path):
    study = made(tmp_path, ONE, value=lambda *_: None)
    page = render(study_document(study))
    assert "No valid run has responses_per_s." in page and plots(page) == {}


def test_every_workload_has_its_own_plots(tmp_path):
    study = made(tmp_path, ONE, workloads=("small", "<large>"))
    page = render(study_document(study))
    assert len(plots(page)) == 4
    assert "responses_per_s of small" in page and "p99 of &lt;large&gt;" in page and "<large>" not in page


def test_names_of_users_are_escaped(tmp_path):
    (tmp_path / "x").mkdir()
    text = '[[factor]]\nkey = "title"\nvalues = ["<script>alert(1)</script>", "</script><b>"]\n'
    page = render(study_document(made(tmp_path, text, '# <u>why?\ntitle = "<s>"\nscenario = "echo.toml"\n')))
    for bad in ("<script>alert", "<u>", "<s>", "</script><b>"):
        assert bad not in page


def test_a_clear_best_point_is_named(tmp_path):
    study = made(tmp_path, ONE, value=lambda cells, repeat: cells["inflight"] * 1e4 * (1 + repeat / 1000))
    (said,) = findings(study)
    assert said.startswith("Highest responses_per_s: 5.13 M/s (geometric mean of 3 runs), 95% interval")
    assert "Distinguishable from the runner-up, 2.57 M/s" in said and "at inflight 256: ratio 2," in said


def test_points_within_noise_are_not_distinguished(tmp_path):
    dice = random.Random(1)
    study = made(tmp_path, ONE, value=lambda *_: 1e6 * dice.gauss(1, 0.05))
    assert "Not distinguishable from the runner-up" in findings(study)[0]


def test_of_latencies_the_lowest_is_best(tmp_path):
    head = HEAD + 'metrics = ["p99"]\n'
    study = made(tmp_path, ONE, head, value=lambda cells, repeat: cells["inflight"] * 1e3 + repeat)
    said = findings(study)[0]
    assert said.startswith("Lowest p99: ") and " at inflight 512." in said


@pytest.mark.parametrize(("repeats", "words"), [(1, "one run per point"), (3, "There is no other point")])
def test_limits_of_the_data_are_stated(tmp_path, repeats, words):
    factor = ONE if repeats == 1 else '[[factor]]\nkey = "client.inflight"\nvalues = [64]\n'
    study = made(tmp_path, factor, HEAD + f"repeats = {repeats}\n")
    assert words in findings(study)[0]


def test_zeros_have_no_ratio():
    found = find([Sample(1, (0.0, 0.0), (0, 1)), Sample(2, (0.0, 3.0), (0, 1))], lower_is_better=True)
    assert (found.best.point, found.differs, found.interval) == (1, None, None)
    assert find([], lower_is_better=False) is None


def test_samples_are_the_valid_runs_of_a_workload():
    row = {"point": 1, "repeat": 0, "workload": "a", "p99": 3}
    others = [{"repeat": 1, "p99": None}, {"workload": "b"}, {"point": 0, "p99": 5}, {"repeat": 2, "p99": 4}]
    rows = [row | other for other in ({}, *others)]
    assert samples(rows, "p99", "a") == [Sample(0, (5.0,), (0,)), Sample(1, (3.0, 4.0), (0, 2))]


def test_a_handler_as_a_factor_adds_no_workload(tmp_path):
    study = made(tmp_path, ONE + HANDLER)
    for row in study.rows:
        row["workload"] = row["handler"]
    page = render(study_document(study))
    kinds = [plot["data"][0]["type"] for plot in plots(page).values()]
    assert kinds == ["heatmap", "scatter", "heatmap", "scatter"]
    assert len(findings(study)) == 1 and "of l_app" not in page


def test_a_terminal_has_the_first_points_and_the_page_all(tmp_path):
    factors = ONE.replace("points = 5", "points = 31") + TWO.removeprefix(ONE)
    study = made(tmp_path, factors, HEAD + "repeats = 1\n")
    points = len({row["point"] for row in study.rows})
    document = study_document(study, charts=False)
    assert points > MOST_ROWS and f"the first {MOST_ROWS} of {points} points" in printed(document)
    lines = [line for line in printed(document).splitlines() if "1.00 M/s" in line and "Highest" not in line]
    assert MOST_ROWS <= len(lines) < points
    assert render(document).count("<td>1.00 M/s</td>") == MOST_ROWS + points


def test_plots_are_made_for_pages_alone(tmp_path, monkeypatch):
    """Those of latencies read every run."""
    study = made(tmp_path, ONE, HEAD + 'latency = ["boxes"]\n')
    monkeypatch.setattr(study_latency, "histograms", lambda study: pytest.fail("a run was read"))
    assert plots(render(study_document(study, charts=False))) == {}


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_every_metric_is_formatted(metric):
    assert study_metrics.text(metric, 0.5) and study_metrics.text(metric, None) == "–"
    assert study_metrics.lower_is_better(metric) in (True, False)


def test_each_metric_has_a_direction():
    more = {"responses_per_s", "offered_per_s", "client_idle", "server_rx_mpps", "server_app_rx_burst"}
    less = {
        "p99",
        "sent_p999",
        "lost_per_s",
        "unsent",
        "client_app_tx_work_ns",
        "server_nic_tx_drops",
        "server_preempted",
    }
    assert not any(map(study_metrics.lower_is_better, more)) and all(map(study_metrics.lower_is_better, less))
