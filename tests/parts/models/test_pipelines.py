"""Pipelines of several tables, from models of one table each: parser and deparser once, tables added up, caches shared."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import fake_numbers
import numpy as np
import pytest
from planted_studies import HERE, a_ladder
from scenario_tools import engine
from study_tools import finished, on_paper, written

from windtunnel.errors import UserError
from windtunnel.parts.models.measured_runs import Parts, parts_of
from windtunnel.parts.models.model_record import Curve, ModelRecord, Neighbour, Parameter, Provenance, Sized, Step
from windtunnel.parts.models.pipeline import predict_pipeline, speed_of
from windtunnel.parts.models.points import world_of
from windtunnel.parts.models.predict import band, curve_samples
from windtunnel.parts.models.requests import ask_pipeline
from windtunnel.parts.models.table_settings import differences, own_settings
from windtunnel.parts.tables.plan import Pipeline, Table
from windtunnel.parts.tables.planned_tables import tables_of
from windtunnel.runs import load
from windtunnel.runs.summary import summarise

EXACT = {"kind": "exact", "method": "hash", "key": "4x4", "lookup": "bulk", "hit": 1.0}
LPM = {"kind": "lpm", "method": "fib", "key": ["ipv4.dst"], "lookup": "bulk", "hit": 1.0}
STEPS = [
    Step(name=name, ns=ns, low=ns * 0.98, high=ns * 1.02)
    for name, ns in (("parser", 5.0), ("deparser", 4.0), ("stages", 12.0))
]


def a_curve(table: dict, form: str, values: list[float], names: list[str], ns) -> Curve:
    sizes = [1e2, 1e4, 1e6]
    points = [Sized(entries=n, bytes=64 * n, ns=ns(n), runs=[ns(n)], held_out=ns(n) * 1.01) for n in sizes]
    parameters = [Parameter(name=n, value=v, low=None, high=None) for n, v in zip(names, values, strict=True)]
    unknown = dict.fromkeys(("noise", "thesis_mape", "beyond"))
    known = {"caches": values if form == "cache" else None, "mape": 0.01, "most": 0.01, "tried": [], "contention": 0.0}
    known |= unknown
    return Curve(settings={}, table=table, form=form, parameters=parameters, points=points, draws=[values], **known)


def a_model(*curves: Curve, steps: list[Step] | None = None, response: str = "table") -> ModelRecord:
    when = datetime(2026, 11, 22, tzinfo=UTC)
    source = Provenance(study="/s", title="t", started=when, results_sha256="", runs=9, left_out=[])
    return ModelRecord(
        kind="cost", title="t", question="", fitted=when, axis="workload.0.table.0.entries", response=response, provenance=source,
        host=HERE, memory="no-huge", versions={}, ladder=a_ladder(), curves=list(curves),
        steps=STEPS if steps is None else steps, latency=[], neighbour=None,
    )  # fmt: skip


def linear(table: dict, a: float, b: float) -> Curve:
    return a_curve(table, "linear", [a, b], ["a", "b"], lambda n: a + b * n)


def tables(*those: dict) -> list[tuple[dict, float]]:
    """As a plan has them, with their entries."""
    return [({"name": f"t{n}", "where": "ingress"} | table, float(table["rules"])) for n, table in enumerate(those)]


def test_a_pipeline_is_its_steps_once_and_the_sum_of_its_tables():
    models = [a_model(linear(EXACT, 20, 1e-4)), a_model(linear(LPM, 6, 1e-5))]
    said = predict_pipeline(models, tables(EXACT | {"rules": 10**5}, LPM | {"rules": 10**4}, EXACT | {"rules": 10**6}))
    assert said.ns == pytest.approx(21 + 30 + 6.1 + 120)
    assert said.low < said.ns < said.high * 1.05 and not said.marks


def test_tables_that_share_a_cache_cost_more_than_alone():
    def cache(n: float) -> float:
        return 20 + 100 * 64 * n / (64 * n + 1e7)

    steps = len(a_ladder().steps()) - 1
    values = [1e7, 20.0, *[0.0] * steps, 100.0]
    curve = a_curve(EXACT, "cache", values, [str(i) for i in range(len(values))], cache)
    one = EXACT | {"rules": 156250}
    one_side = predict_pipeline([a_model(curve)], tables(one)).ns - 21
    both = predict_pipeline([a_model(curve)], tables(one, one)).ns - 21
    assert one_side == pytest.approx(cache(156250), rel=1e-3) and one_side == pytest.approx(70, rel=1e-3)
    assert both == pytest.approx(2 * (20 + 100 * 2 / 3), rel=1e-3), "as one table of both sizes"


def test_a_table_that_no_model_knows_is_refused_with_the_nearest():
    with pytest.raises(UserError, match="lookup bulk against single") as refusal:
        predict_pipeline([a_model(linear(EXACT, 20, 0))], tables(EXACT | {"rules": 100, "lookup": "single"}))
    assert "fit a study" in refusal.value.remedy


def test_what_cannot_be_added_up_is_refused():
    with pytest.raises(UserError, match="no tables"):
        predict_pipeline([a_model(linear(EXACT, 20, 0))], [])
    with pytest.raises(UserError, match="timed the steps"):
        predict_pipeline([a_model(linear(EXACT, 20, 0), steps=[])], tables(EXACT | {"rules": 100}))
    with pytest.raises(UserError, match="no model was fitted"):
        predict_pipeline([a_model(linear(EXACT, 20, 0), response="pipeline")], tables(EXACT | {"rules": 100}))


def test_a_prediction_opens_no_plug_in_of_the_scenario(tmp_path):
    (tmp_path / "sent.so").touch()
    (tmp_path / "sent.toml").write_text('[server]\n[client]\n[[workload]]\nhandler = "./sent.so"\n')
    script, asked = tmp_path / "engine", tmp_path / "asked"
    script.write_text(f"#!/bin/sh\necho \"$@\" >>{asked}; echo '[]'\n")
    script.chmod(0o755)
    with engine(str(script)), pytest.raises(UserError, match="no tables"):
        ask_pipeline([a_model(linear(EXACT, 20, 0))], tmp_path / "sent.toml", [], 1, False)
    assert not asked.exists() or "sent.so" not in asked.read_text()


def test_each_table_has_its_own_limits():
    with pytest.raises(UserError, match="models predict up to"):
        predict_pipeline([a_model(linear(EXACT, 20, 0))], tables(EXACT | {"rules": 10**7}))
    said = predict_pipeline([a_model(linear(EXACT, 20, 0))], tables(EXACT | {"rules": 10**7}), extrapolate=True)
    assert said.marks[0].startswith("table t0: EXTRAPOLATED 10 times")


def test_the_axis_names_its_table():
    parts = Parts([[EXACT | {"name": "a"}, LPM | {"name": "b"}]], {}, None, None, {})
    assert parts.table_at("workload.0.table.1.entries")["name"] == "b"
    assert parts.table_at("workload.3.table.1.entries") is None


def test_a_table_says_what_its_lookups_choose_among():
    counters = {("a", "memory"): 6.4e7, ("b", "memory"): 6.7e7, ("b", "entries"): 1e4}
    parts = Parts([], {}, None, None, counters)
    exact = EXACT | {"name": "a", "access": "pointer", "rules": 10**6}
    assert parts.bytes_of(exact) == 6.4e7
    assert parts.bytes_of(exact | {"access": "rcu"}) == 3.2e7, "one copy of two"
    assert parts.bytes_of(LPM | {"name": "b", "access": "pointer", "rules": 0}) == 6.4e5, "a line a prefix"
    assert parts.bytes_of(exact | {"name": "c"}) is None and parts.bytes_of(None) is None


def test_tables_are_alike_wherever_their_keys_lie():
    def key(offset: int) -> dict:
        return {"fields": [{"place": "body", "offset": offset, "bytes": 4}] * 4, "bytes": 16, "segments": 4}

    one = EXACT | {"name": "a", "rules": 5, "seed": 1, "key": key(0), "popularity": "uniform", "exponent": 0.99}
    other = EXACT | {"name": "b", "rules": 7, "seed": 2, "key": key(20), "popularity": "uniform", "exponent": 0.5}
    assert own_settings(one) == own_settings(other)
    assert own_settings(one) != own_settings(other | {"popularity": "zipf"})
    assert differences(own_settings(one), own_settings(one | {"key": key(0) | {"segments": 16}}))


def test_bands_hold_the_errors_that_were_held_out():
    errors = ((1, 0.9), (10, 1.1), (99, 1.0))
    points = [Sized(entries=n, bytes=n, ns=20, runs=[20], held_out=20 * e) for n, e in errors]
    curve = linear(EXACT, 20, 0).model_copy(update={"points": points})
    low, high = band(curve_samples(curve, 50, world_of(None), np.random.default_rng(1)))
    assert low == pytest.approx(20 / 1.1) and high == pytest.approx(20 / 0.9)


@pytest.fixture
def a_run(tmp_path, monkeypatch) -> Path:
    """A run directory whose server's handler named two steps, and one that makes its traffic."""
    window = fake_numbers.window

    def with_steps(plan, sides, index, phase):
        told = window(plan, sides, index, phase)
        of = next(s for s in told["stages"] if (s["endpoint"], s["stage"]) == ("server", "disp_rx"))
        place = {"endpoint": "server", "stage": "disp_rx", "index": of["index"], "worker": of["worker"]}
        for step, traffic, cycles in (("parser", False, 3000), ("flows", False, 9000), ("traffic", True, 5000)):
            counts = {"cycles": cycles, "packets": of["timed_objects"], "stamps": 10}
            told["steps"].append(place | {"step": step, "traffic": traffic} | counts)
        told["counters"].append(
            {k: place[k] for k in ("endpoint", "stage", "index")}
            | {"of": "flows", "name": "memory", "unit": "bytes", "kind": "level", "value": 1 << 20}
        )
        return told

    monkeypatch.setattr(fake_numbers, "window", with_steps)
    file = written(
        tmp_path, '[[factor]]\nkey = "client.inflight"\nvalues = [32]\n', 'scenario = "echo.toml"\nrepeats = 1\n'
    )
    with on_paper():
        finished(file, tmp_path / "out")
    return next((tmp_path / "out" / "runs").iterdir())


def test_a_run_is_taken_apart(a_run):
    [parts], summary = parts_of([a_run], [1]), summarise(load(a_run))
    rows = {row.step: row for row in summary.steps}
    assert parts.steps.keys() == {"parser", "flows"}, "what makes traffic is no part of the pipeline"
    assert parts.steps["flows"] == pytest.approx(rows["flows"].stage_ns - rows["flows"].stamp_ns)
    assert 0 < rows["flows"].stamp_ns < rows["flows"].stage_ns
    stages = sum(row.work_ns + row.stall_ns for row in summary.stages if row.endpoint == "server")
    assert parts.pipeline_ns == pytest.approx(stages - rows["flows"].stamp_ns - rows["parser"].stamp_ns)
    assert parts.counters == {("flows", "memory"): float(1 << 20)} and parts.tables == [[]]
    assert parts_of([a_run.parent / "nothing"], [1]) == [None]


def shared(run: Path, to: Path, which: slice) -> Path:
    """A copy of the run, in which a neighbour used the core in these of the measured windows."""
    shutil.copytree(run, to)
    file = to / "windows.jsonl"
    windows = [json.loads(line) for line in file.read_text().splitlines()]
    for window in [window for window in windows if window["phase"] == "measure"][which]:
        for worker in window["workers"]:
            worker["wide_ticks"] *= 1.7
        for step in window["steps"]:
            step["cycles"] *= 3
    file.write_text("".join(json.dumps(window) + "\n" for window in windows))
    return to


def test_windows_on_a_shared_core_are_left_out(a_run, tmp_path):
    [quiet] = parts_of([a_run], [1])
    partly, wholly = shared(a_run, tmp_path / "p", slice(1)), shared(a_run, tmp_path / "w", slice(None))
    of_quiet, of_partly, of_wholly = parts_of([a_run, partly, wholly], [1, 1, 1])
    assert of_quiet == quiet and of_partly.steps == pytest.approx(quiet.steps)
    assert 0 < of_partly.windows < quiet.windows and of_wholly.windows == 0 and of_wholly.steps == {}
    everything = parts_of([a_run, wholly], [1, 2])
    assert everything[0] == quiet, "a point must not lose all its runs: they count as they are"
    assert everything[1].windows == quiet.windows and everything[1].steps["flows"] > 2 * quiet.steps["flows"]


def test_the_costliest_measurement_of_each_other_step_counts():
    """A checksum is computed where one table rewrites, whatever the others do."""
    computed = [
        step.model_copy(update={"ns": 9.0, "low": 8.9, "high": 9.1}) if step.name == "deparser" else step
        for step in STEPS
    ]
    models = [a_model(linear(EXACT, 20, 0)), a_model(linear(LPM, 6, 0), steps=computed)]
    assert predict_pipeline(models, tables(EXACT | {"rules": 100}, LPM | {"rules": 100})).ns == pytest.approx(26 + 26)
    assert predict_pipeline(models, tables(EXACT | {"rules": 100})).ns == pytest.approx(21 + 20)


def test_tables_stand_in_the_plan(a_run):
    [engine] = load(a_run).record.engines
    key = {"fields": [{"place": "body", "offset": at, "bytes": 4} for at in (0, 4, 8, 12)], "bytes": 16, "segments": 4}
    table = EXACT | {"name": "flows", "where": "ingress", "key": key, "rules": 100, "file": None, "prefixes": "24"}
    table |= {"masks": 1, "load": 0.5, "access": "pointer", "entry": "inline", "per_core": False, "action": "forward"}
    table |= {"meter": None, "miss_drops": False, "changes_per_s": 0, "seed": 1, "steered": True, "expected": 16}
    table |= {"popularity": "uniform", "exponent": 1.0}
    pipeline = Pipeline(
        traffic="frames", body_offset=0, body_bytes=20, inner=False, change_cpu=None, tables=[Table(**table)]
    )
    workload = engine.plan.workloads[0]
    plan = engine.plan.model_copy(update={"workloads": [workload.model_copy(update={"pipeline": pipeline}), workload]})
    assert [[table["name"] for table in those] for those in tables_of([engine.plan, plan])] == [["flows"], []]


def test_parts_of_a_pipeline_stand_at_one_speed_of_the_core():
    """The exact table was measured beside a neighbour that doubled its costs."""
    exact = a_model(linear(EXACT, 40, 0)).model_copy(update={"neighbour": Neighbour(exponent=1.0, ticks=2000)})
    lpm = a_model(linear(LPM, 6, 0)).model_copy(update={"neighbour": Neighbour(exponent=0.5, ticks=1000)})
    those = tables(EXACT | {"rules": 100}, LPM | {"rules": 100})
    untimed = lpm.model_copy(update={"steps": []})
    assert predict_pipeline([exact, untimed], those).ns == pytest.approx((21 + 40) / 2 + 6), "its steps were slowed too"
    assert predict_pipeline([lpm, exact], those).ns == pytest.approx(21 + 40 / 2 + 6)
    assert speed_of([exact, lpm]) == Neighbour(exponent=0.75, ticks=1000)
    assert speed_of([a_model(linear(LPM, 6, 0))]) is None
