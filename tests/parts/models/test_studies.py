"""From studies to models and predictions, by the command line: the truth of each study is known to its test."""

import json
from pathlib import Path

import duckdb
import numpy as np
import pytest
from planted_studies import ENTRIES, HERE, SIZES, a_ladder, a_study
from study_tools import invoke, refused

from windtunnel.measure.study.directory import RESULTS
from windtunnel.parts.models import charts
from windtunnel.parts.models.fit_document import curve_sentences, notes
from windtunnel.parts.models.model_record import ModelRecord, read
from windtunnel.parts.models.observe import doubts, usable
from windtunnel.parts.models.predict import predict

pytestmark = pytest.mark.slow

LOOKUP, CORES = "workload.0.table.0.lookup", "server.cores"
BULK = ("--set", f"{LOOKUP}=bulk")


def cost(entries: float, more: float = 1.0) -> float:
    """Three levels: one at each end of the ladder's levels, and one that none of them is."""
    w = 64 * entries
    return 20 + 2 * w / (w + 32768) + more * (6 * w / (w + 2097152) + 60 * w / (w + 1.5e8))


@pytest.fixture(scope="module")
def ladder(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("ladder") / "ladder.json"
    file.write_text(a_ladder().model_dump_json())
    return file


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Path:
    def law(point):
        return cost(point[ENTRIES], 1.6 if point[LOOKUP] == "single" else 1.0) * (1 + 0.3 * (point[CORES] - 1))

    factors = {ENTRIES: SIZES, LOOKUP: ["bulk", "single"], CORES: [1, 2]}
    return a_study(tmp_path_factory.mktemp("studies") / "tables", law, factors, repeats=2)


@pytest.fixture(scope="module")
def fitted(study, ladder) -> tuple[Path, str]:
    file = study.parent / "tables.json"
    page = study.parent / "tables.html"
    return file, invoke("model", "fit", study, "--ladder", ladder, "--out", file, "--report", page)


def test_rates_are_drawn_on_each_number_of_cores_beside_the_runs(fitted):
    model = read(fitted[0])
    curve = model.curves[0]
    assert charts.cores_of_runs(curve) == {1, 2}
    lines = {trace["name"]: trace for trace in charts.throughput(model, curve)["data"]}
    assert list(lines) == ["T(n, 1)", "runs on 1 core", "T(n, 2)", "runs on 2 cores", "T(n, 3), not run"]
    assert lines["T(n, 3), not run"]["line"]["dash"] == "dot" and lines["T(n, 2)"]["line"]["dash"] == "solid"
    for cores, name in ((1, "runs on 1 core"), (2, "runs on 2 cores")):
        seen = zip(lines[name]["x"], lines[name]["y"], strict=True)
        assert len(lines[name]["x"]) == 2 * len(SIZES)
        assert all(
            mpps == pytest.approx(1e3 * cores / (cost(n) * (1 + 0.3 * (cores - 1))), rel=0.06) for n, mpps in seen
        )
    page = (fitted[0].parent / "tables.html").read_text()
    assert "packets a second of c cores" in page and "fitted to these runs" in page


def test_a_model_without_the_cores_of_its_runs_has_no_such_plot(fitted):
    record = json.loads(fitted[0].read_text())
    for point in record["curves"][0]["points"]:
        del point["cores"]
    older = ModelRecord.model_validate(record)
    assert charts.throughput(older, older.curves[0]) is None


def test_cores_are_of_each_run(fitted):
    record = json.loads(fitted[0].read_text())
    record["curves"][0]["points"][0]["cores"] = [1]
    with pytest.raises(ValueError, match="not as many as runs"):
        ModelRecord.model_validate(record)


def test_a_model_finds_the_truth_and_says_where_it_comes_from(fitted, study):
    model = read(fitted[0])
    assert [curve.settings for curve in model.curves] == [{LOOKUP: "bulk"}, {LOOKUP: "single"}]
    for curve, more in zip(model.curves, (1.0, 1.6), strict=True):
        assert curve.form == "cache"
        assert next(one.mape for one in curve.tried if one.form == "cache") < 0.02
        assert curve.contention == pytest.approx(0.3, abs=0.03)
        t0 = curve.parameters[1]
        assert t0.low < t0.value < t0.high and 19 < t0.value < 21
        assert curve.beyond.bound == 1e6 and curve.beyond.mape < 0.2
        assert 0.002 < curve.noise < 0.02
        assert curve.points[0].ns == pytest.approx(cost(SIZES[0], more), rel=0.05)
    assert model.provenance.study == str(study) and model.provenance.runs == 88
    assert model.host["hostname"] == HERE["hostname"] and model.memory == "no-huge"
    assert "chosen" not in fitted[1] or "cache" in fitted[1]
    assert "Held out" not in fitted[1] and "held-out error" in fitted[1]
    assert all(len(curve.draws) == 200 and np.isfinite(np.array(curve.draws)).all() for curve in model.curves)
    page = (fitted[0].parent / "tables.html").read_text()
    assert page.count("_plot-") >= 4 and "lookup single" in page and "held-out error" in page


def predicted(model, entries, *more):
    return json.loads(invoke("model", "predict", model, "--entries", entries, *BULK, *more, "--json"))


@pytest.mark.parametrize(("entries", "number", "cores"), [("300k", 3e5, 1), ("2M", 2e6, 2), ("5000", 5e3, 1)])
def test_predictions_hold_the_truth(fitted, entries, number, cores):
    told = predicted(fitted[0], entries, "--cores", cores)
    true = cost(number) * (1 + 0.3 * (cores - 1))
    assert told["ns"] == pytest.approx(true, rel=0.05)
    assert told["low"] < true < told["high"] and not told["marks"]
    assert told["mpps"] == pytest.approx(1e3 * cores / told["ns"])


def test_far_outside_it_refuses_and_marks_what_was_asked_for(fitted):
    one = ("model", "predict", fitted[0], *BULK, "--entries")
    assert "beyond 1e+07" in invoke(*one, "25M")
    refusal = refused(*one, "31M")
    assert "models predict up to 3 times beyond" in refusal.message and "--extrapolate" in refusal.remedy
    assert "EXTRAPOLATED 3.1 times" in invoke(*one, "31M", "--extrapolate")


def test_a_question_that_names_no_one_curve_is_refused(fitted):
    refusal = refused("model", "predict", fitted[0], "--entries", "1M")
    assert f"--set {LOOKUP}=bulk|single" in refusal.remedy


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (("--entries", "1M", "--set", f"{LOOKUP}=both"), "no curve"),
        (("--entries", "1M", "--set", "a.b=1"), "do not differ in it"),
        (("--entries", "1M", "--set", "bulk"), "not KEY=VALUE"),
        (("--entries", "30", *BULK), "smallest size"),
        *(((f"--entries={size}", *BULK), "") for size in ("0", "-3", "many", "1.5", "1e6", "NaN", "")),
        ((), "nothing to predict"),
        (("--rate", "1Mpps"), "use --entries N"),
        (("--entries", "1", "--rate", "1pps"), "and --rate"),
    ],
)
def test_a_question_that_is_none_is_refused(fitted, question, words):
    refusal = refused("model", "predict", fitted[0], *question)
    assert words in f"{refusal.message} {refusal.remedy}"


def test_popular_keys_cost_less(fitted):
    uniform, skewed = predicted(fitted[0], "10M"), predicted(fitted[0], "10M", "--zipf", "1.0")
    assert skewed["ns"] < 0.8 * uniform["ns"] and "Che" in skewed["marks"][0]


def test_a_model_of_another_host_is_refused_unless_asked_for(fitted, tmp_path):
    model = json.loads(fitted[0].read_text())
    model["host"]["cpus"]["model"] = "Another CPU"
    (tmp_path / "m.json").write_text(json.dumps(model))
    one = ("model", "predict", tmp_path / "m.json", "--entries", "1M", *BULK)
    refusal = refused(*one)
    assert "cpus.model Another CPU there" in refusal.message and "--allow-other-host" in refusal.remedy
    assert "Mpps" in invoke(*one, "--allow-other-host")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 2}, "model of version 2"),
        ({"curves": 3}, "curves"),
        ({"kind": "guess"}, "kind"),
        ({"more": 1}, "more"),
    ],
)
def test_a_damaged_or_newer_model_is_refused(fitted, tmp_path, change, words):
    (tmp_path / "m.json").write_text(json.dumps(json.loads(fitted[0].read_text()) | change))
    assert words in refused("model", "predict", tmp_path / "m.json", "--entries", "1M").message


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 1}', "\ud800", "[" * 9999])
def test_a_file_that_is_no_model_is_refused(tmp_path, text):
    (tmp_path / "m.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    refused("model", "predict", tmp_path / "m.json", "--entries", "1M")


def test_a_study_is_not_fitted_to_what_is_not_its_own(fitted, study, ladder, tmp_path):
    before = fitted[0].read_bytes()
    assert "exists already" in refused("model", "fit", study, "--out", fitted[0]).message
    assert fitted[0].read_bytes() == before
    assert "--bound 2e+07" in refused("model", "fit", study, "--ladder", ladder, "--bound", "20M").message
    (tmp_path / "l.json").write_text(a_ladder(host=HERE | {"hostname": "elsewhere"}).model_dump_json())
    assert "different hosts" in refused("model", "fit", study, "--ladder", tmp_path / "l.json").message


def test_a_study_of_one_point_is_refused(tmp_path, ladder):
    study = a_study(tmp_path / "s", lambda point: 30.0, {ENTRIES: [10.0, 100.0]})
    refusal = refused("model", "fit", study, "--ladder", ladder)
    assert "2 sizes of the table (10, 100)" in refusal.message and "more sizes" in refusal.remedy


def test_costs_that_do_not_see_the_table_are_refused(tmp_path, ladder):
    study = a_study(tmp_path / "s", lambda point: 30.0, {ENTRIES: SIZES}, noise=0)
    assert "cost exactly the same, 30 ns" in refused("model", "fit", study, "--ladder", ladder).message


def test_runs_without_a_number_are_left_out_and_said(tmp_path, ladder):
    def law(point):
        return float("nan") if point[ENTRIES] == SIZES[3] else cost(point[ENTRIES])

    study = a_study(tmp_path / "s", law, {ENTRIES: SIZES}, repeats=1)
    model = ModelRecord.model_validate_json(invoke("model", "fit", study, "--ladder", ladder, "--json"))
    assert model.provenance.left_out == ["runs/004-r1: its cost (pipeline) is nan"]
    assert len(model.curves[0].points) == len(SIZES) - 1 and model.curves[0].noise is None


def test_a_study_of_something_else_is_refused(tmp_path):
    study = a_study(tmp_path / "s", lambda point: 30.0, {"client.inflight": [1.0, 2.0]})
    refusal = refused("model", "fit", study)
    assert "no factor changes a table's entries" in refusal.message and "workload.0.table.0.entries" in refusal.remedy
    assert "not a study" in refused("model", "fit", tmp_path).message


def test_a_column_can_be_modelled_as_cost_or_as_rate(tmp_path, ladder):
    def rate(point):
        return 1e3 / cost(point[ENTRIES])

    study = a_study(tmp_path / "s", rate, {ENTRIES: SIZES}, column="server_rx_mpps", repeats=1)
    fit = ("model", "fit", study, "--ladder", ladder, "--of")
    model = ModelRecord.model_validate_json(invoke(*fit, "server_rx_mpps", "--form", "cache", "--json"))
    assert model.curves[0].points[0].ns == pytest.approx(cost(SIZES[0]), rel=0.05)
    assert "no column nothing" in refused(*fit, "nothing").message
    assert "not a cost" in refused(*fit, "server_idle").message
    assert "one of flat, linear" in refused(*fit, "server_rx_mpps", "--form", "x").remedy


def test_a_study_from_elsewhere_has_no_forms_of_caches(tmp_path):
    host = HERE | {"hostname": "elsewhere"}
    study = a_study(tmp_path / "s", lambda point: 11 + 0.8 * point[ENTRIES], {ENTRIES: SIZES}, repeats=1, host=host)
    said = invoke("model", "fit", study)
    assert "no ladder of this host" in said and "a + b n" in said


CAPACITY = 2.2e6
LOADS = [CAPACITY * share for share in (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9)]


def percentiles(point, own):
    wait = 1 / (1 - point["client.rate"] / CAPACITY)
    return {
        "p50": round(own * (6e3 + 2e3 * wait)),
        "p90": round(own * (7e3 + 3e3 * wait)),
        "p99": round(own * (8e3 + 5e3 * wait)),
    }


@pytest.fixture(scope="module")
def latency(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("latency")
    a_study(path / "load", None, {"client.rate": LOADS}, noise=0.01, cells=percentiles)
    invoke("model", "fit", path / "load", "--out", path / "m.json", "--report", path / "m.html")
    return path


def test_latency_against_load_comes_back(latency):
    [curve] = read(latency / "m.json").latency
    assert curve.form == "polling" and curve.capacity == pytest.approx(CAPACITY, rel=0.05)
    assert curve.capacity_low <= curve.capacity <= curve.capacity_high
    assert max(curve.mape.values()) < 0.1 and set(curve.mape) == {"p50", "p90", "p99"}
    said = json.loads(invoke("model", "predict", latency / "m.json", "--rate", "1Mpps", "--json"))
    assert said["ns"]["p99"] == pytest.approx(8e3 + 5e3 / (1 - 1 / 2.2), rel=0.03)
    assert "held-out error" in (latency / "m.html").read_text()


def test_a_load_that_no_queue_carries_is_refused(latency, fitted):
    file = latency / "m.json"
    assert "would grow without limit" in refused("model", "predict", file, "--rate", "3Mpps").message
    assert "lowest load" in refused("model", "predict", file, "--rate", "1kpps").message
    assert "outside the loads" in invoke("model", "predict", file, "--rate", "1kpps", "--extrapolate")
    assert "use --rate RATE" in refused("model", "predict", file, "--entries", "5").remedy
    assert "--of has no effect" in refused("model", "fit", latency / "load", "--of", "p99").message
    assert "takes one model, not 2" in refused("model", "predict", fitted[0], file, "--entries", "5").message


def test_too_few_loads_are_refused(tmp_path):
    study = a_study(tmp_path / "s", None, {"client.rate": LOADS[:4]}, cells=percentiles)
    assert "4 loads" in refused("model", "fit", study).message


def test_check_shows_every_study(latency, ladder, tmp_path):
    study = a_study(tmp_path / "s", lambda point: cost(point[ENTRIES]), {ENTRIES: SIZES}, repeats=1)
    said = invoke("model", "validate", study, latency / "load", "--ladder", ladder)
    assert said.count("cache") == 1 and "polling" in said and "held out" in said


def test_rejected_metrics_are_fitted_only_on_request_and_counted():
    rows = [
        {"valid": valid, "measured_s": lasted, "relaxed": []}
        for valid, lasted in ((True, 1.0), (False, 1.0), (False, None))
    ]
    assert usable(rows, include_invalid=False) == (rows[:1], ["left out: 2 runs invalid"])
    assert usable(rows, include_invalid=True) == (rows[:2], ["left out: 1 run invalid"])
    assert doubts(rows[:2]) == ["1 invalid run"] and doubts(rows[:1]) == []


def test_a_prediction_says_how_good_its_runs_were(fitted, tmp_path):
    rows = [{"valid": True, "measured_s": 1.0, "relaxed": [limit]} for limit in ("a 1 instead of 2", "b", "b")]
    assert doubts(rows) == ["relaxed limits: a 1 instead of 2, b"]
    model = read(fitted[0])
    said = ["3 invalid runs", "relaxed limits: b"]
    spoilt = model.model_copy(update={"provenance": model.provenance.model_copy(update={"doubts": said})})
    marks = predict(spoilt, 100, settings=[f"{LOOKUP}=bulk"]).marks
    assert marks == ["the model rests on 3 invalid runs", "the model rests on relaxed limits: b"]
    assert "rests on relaxed limits: b" in notes(spoilt)


def test_a_refusal_names_the_runs_that_were_left_out(tmp_path, ladder):
    study = a_study(tmp_path / "s", lambda point: 30.0, {ENTRIES: SIZES})
    changed = study / "changed.parquet"
    duckdb.execute(
        f"COPY (SELECT * REPLACE (entries = '{SIZES[0]:g}' AS valid) FROM '{study / RESULTS}') TO '{changed}' (FORMAT parquet)"
    )
    changed.replace(study / RESULTS)
    message = refused("model", "fit", study, "--ladder", ladder).message
    assert "1 size of the table" in message and "; left out: " in message and message.endswith("runs invalid")


def test_a_form_with_the_lesser_error_is_named(fitted):
    (curve, *_) = read(fitted[0]).curves
    assert not any("--form" in sentence for sentence in curve_sentences(curve.model_copy(update={"mape": 0.0})))
    tried = [one.model_copy(update={"mape": 0.01}) if one.form == "two pieces" else one for one in curve.tried]
    (said,) = (
        sentence
        for sentence in curve_sentences(curve.model_copy(update={"mape": 0.5, "tried": tried}))
        if "--form" in sentence
    )
    assert said.endswith("; between the measured sizes take --form 'two pieces'")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ("* EXCLUDE entries", "no column entries"),
        ("* EXCLUDE repeat", 'Referenced column "repeat" not found'),
        ("* REPLACE ('x' AS server_disp_rx_work_ns)", "another type of server_disp_rx_work_ns"),
        ("* REPLACE (point + 99 AS point)", "other points"),
    ],
)
def test_a_table_of_another_study_is_refused(tmp_path, ladder, changed, words):
    study = a_study(tmp_path / "study", lambda point: 20.0, {ENTRIES: SIZES[:3]}, repeats=1)
    table = study / RESULTS
    duckdb.execute(f"COPY (SELECT {changed} FROM read_parquet('{table}')) TO '{tmp_path}/new' (FORMAT parquet)")
    (tmp_path / "new").rename(table)
    assert words in refused("model", "fit", study, "--ladder", ladder).message
