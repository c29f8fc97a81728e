"""A model that somebody sent: `model predict` answers, or names the field that is wrong; it never ends with a traceback."""

import json
from collections.abc import Iterator
from copy import deepcopy
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from in_process import run
from planted_studies import ENTRIES, HERE, a_ladder
from properties import examples

from windtunnel.errors import UserError
from windtunnel.parts.models.forms import CACHE, CACHE_AND_PARTS
from windtunnel.parts.models.model_record import read
from windtunnel.parts.models.pipeline import predict_pipeline
from windtunnel.parts.models.points import world_of
from windtunnel.parts.models.table_settings import own_settings
from windtunnel.parts.tables.planned_tables import tables_of
from windtunnel.scenario import here, load, resolve

WHEN = datetime(2026, 11, 22, tzinfo=UTC).isoformat()
pytestmark = pytest.mark.slow
SCENARIO = Path(__file__).parents[3] / "scenarios" / "tables-exact.toml"
VALUES = (
    0, -1, 1, 3, 1e-300, 1e300, 10**400, float("nan"), float("inf"), True, None, "", "q", "p50", "cache", "linear", "ladder", "polling",
    [], [[]], [1.0], {}, {"p50": 1.0},
)  # fmt: skip
"""What a field is changed to."""


def a_record(kind: str, **fields: Any) -> dict[str, Any]:
    source = {"study": "/s", "title": "t", "started": WHEN, "results_sha256": "", "runs": 9, "left_out": []}
    common = {
        "version": 1,
        "kind": kind,
        "title": "t",
        "question": "q",
        "fitted": WHEN,
        "axis": ENTRIES,
        "response": "table",
    }
    empty = {"host": HERE, "memory": None, "versions": {}, "ladder": None, "neighbour": None, "curves": [], "steps": []}
    return common | {"provenance": source, "latency": []} | empty | fields


def a_cost_model(table: dict[str, Any]) -> dict[str, Any]:
    """With a curve of the form that needs most, for such a table."""
    ladder = a_ladder(host={})
    world = world_of(ladder).with_table(table)
    names, caches = CACHE_AND_PARTS.names(world), CACHE.names(world)
    values = [1e8 if name.startswith("S_last") else 2.0 for name in names]
    points = [
        {"entries": n, "bytes": 64 * n, "ns": 20 + n / 1e5, "runs": [20.0], "held_out": 21 + n / 1e5}
        for n in (1e2, 1e4, 1e6)
    ]
    tried = [{"form": "flat", "words": "t0", "thesis": False, "mape": 0.1, "most": 0.2, "onwards": 0.1, "why": None}]
    curve = {
        "settings": {"server.batch": 32},
        "table": table,
        "form": CACHE_AND_PARTS.name,
        "parameters": [
            {"name": name, "value": value, "low": None, "high": value}
            for name, value in zip(names, values, strict=True)
        ],
        "caches": [1e8, *[2.0] * (len(caches) - 1)],
        "contention": 0.1,
        "points": points,
        "mape": 0.01,
        "most": 0.02,
        "noise": 0.01,
        "thesis_mape": 0.1,
        "beyond": {"bound": 1e5, "form": "flat", "mape": 0.1, "most": 0.2, "thesis_form": None, "thesis_mape": None},
        "tried": tried,
        "draws": [values, values],
    }
    return a_record(
        "cost",
        ladder=json.loads(ladder.model_dump_json()),
        state="one-l3",
        neighbour={"exponent": 0.5, "ticks": 22.0},
        curves=[curve, curve | {"settings": {"server.batch": 64}, "table": table | {"hit": 0.5}}],
        steps=[{"name": "parse", "ns": 12.5, "low": 11.0, "high": 13.5}],
    )


def a_latency_model() -> dict[str, Any]:
    names = ("p50", "p99")
    curve = {
        "settings": {"workload": "m"},
        "form": "polling",
        "capacity": 2e6,
        "capacity_low": 1.9e6,
        "capacity_high": 2.1e6,
        "coefficients": {name: [6000.0, 2000.0] for name in names},
        **{of: dict.fromkeys(names, 0.1) for of in ("mape", "most", "noise")},
        "points": [
            {"load": at, "ns": dict.fromkeys(names, 8000.0), "held_out": dict.fromkeys(names, 8100.0)}
            for at in (1e5, 5e5, 1e6)
        ],
        "tried": [],
    }
    return a_record("latency", latency=[curve], response="latency")


PLAN = tables_of(resolve(load(SCENARIO, []), here()).plans)[0][0]
COST, LATENCY = a_cost_model(own_settings(PLAN)), a_latency_model()
OF_TABLE = ("--entries", "5000", "--set", "server.batch=32", "--cores", "2", "--zipf", "1", "--extrapolate")
OF_LOAD = ("--rate", "700k", "--extrapolate")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Of every value of a document, and of no more than two of a list."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def changed(document: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    new = deepcopy(document)
    holder: Any = new
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return new


def cases(document: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """The document with one value changed."""
    return st.builds(changed, st.just(document), st.sampled_from([*places(document)]), st.sampled_from(VALUES))


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("models") / "model.json"


def predicted(file: Path, document: dict[str, Any], *asked: str) -> str | None:
    """What the command refuses a model with; None: it answered."""
    file.write_text(json.dumps(document))
    done = run("model", "predict", file, *asked, "--allow-other-host")
    if done.exception is None:
        assert done.output
        return None
    assert isinstance(done.exception, UserError), repr(done.exception)
    return done.exception.message


def summed(file: Path, document: dict[str, Any]) -> None:
    """The same as `--scenario`, of a pipeline of two tables that share the caches."""
    file.write_text(json.dumps(document))
    try:
        said = predict_pipeline([read(file)], [(PLAN, 5000.0), (PLAN, 7000.0)], cores=2, extrapolate=True)
    except UserError:
        return
    assert 0 < said.low and said.high < np.inf


NOT_ONE = "draws.0: 1 numbers, and cache & parts here has"
REFUSED = [
    (COST, OF_TABLE, ("curves", 0, "points"), [], "curves.0.points: "),
    (COST, OF_TABLE, ("curves", 0, "parameters"), [], "curves.0.parameters: 0 numbers"),
    (COST, OF_TABLE, ("curves", 0, "draws"), [[]], "curves.0.draws.0: 0 numbers"),
    (COST, OF_TABLE, ("curves", 0, "draws"), [[1.0]], f"curves.0.{NOT_ONE}"),
    (COST, OF_TABLE, ("curves", 0, "points", 0, "ns"), 0, "curves.0.points.0.ns: "),
    (COST, OF_TABLE, ("curves", 0, "points", 1, "entries"), 1, "curves.0.points: entries is not ascending"),
    (COST, OF_TABLE, ("curves", 0, "form"), "q", "curves.0.form: this windtunnel has no form q"),
    (COST, OF_TABLE, ("curves", 0, "caches"), [1e8], "curves.0.caches: 1 numbers"),
    (COST, OF_TABLE, ("curves", 0, "table", "load"), 0, "curves.0.table: load: "),
    (COST, OF_TABLE, ("curves", 1, "settings"), {}, "curves.1.settings: "),
    (COST, OF_TABLE, ("ladder",), None, "curves.0.form: cache & parts needs a ladder"),
    (COST, OF_TABLE, ("steps", 0, "ns"), -1, "steps.0.ns: "),
    (COST, OF_TABLE, ("steps", 0, "low"), 13, "steps.0: ns is not between low and high"),
    (LATENCY, OF_LOAD, ("latency", 0, "points"), [], "latency.0.points: "),
    (LATENCY, OF_LOAD, ("latency", 0, "coefficients", "p99"), [], "latency.0.coefficients.p99: "),
    (LATENCY, OF_LOAD, ("latency", 0, "coefficients", "q"), [1, 1], "latency.0.coefficients: q is none of"),
    (LATENCY, OF_LOAD, ("latency", 0, "mape"), {}, "latency.0: mape has other percentiles"),
    (LATENCY, OF_LOAD, ("latency", 0, "form"), "q", "latency.0.form: this windtunnel has no form q"),
]


@pytest.mark.parametrize(
    ("document", "asked", "path", "value", "words"), REFUSED, ids=[".".join(map(str, p)) for _, _, p, _, _ in REFUSED]
)
def test_a_field_that_cannot_be_is_named(file, document, asked, path, value, words):
    refused = predicted(file, changed(document, path, value), *asked)
    assert refused is not None and refused.startswith(f"{file}: {words}")


@pytest.mark.parametrize("value", [0.0, 1e20])
def test_a_cost_that_cannot_be_is_refused(file, value):
    """Each number is in its bounds, and so is none of what they make: 0 ns, or more than a number holds."""
    numbers = [{"name": name, "value": value, "low": None, "high": None} for name in ("p", "a", "b")]
    curve = COST["curves"][0] | {"form": "power", "parameters": numbers, "draws": []}
    refused = predicted(file, COST | {"curves": [curve]}, *OF_TABLE)
    assert refused is not None and "which is not a cost above 0" in refused


def test_the_models_of_these_tests_predict(file):
    assert predicted(file, COST, *OF_TABLE) is None and predicted(file, LATENCY, *OF_LOAD) is None
    summed(file, COST)


@given(cases(COST))
@examples(40)
def test_a_changed_value_of_a_cost_model_predicts_or_is_refused(file, document):
    predicted(file, document, *OF_TABLE)
    summed(file, document)


@given(cases(LATENCY))
@examples(40)
def test_a_changed_value_of_a_latency_model_predicts_or_is_refused(file, document):
    predicted(file, document, *OF_LOAD)


@pytest.mark.long("properties")
@pytest.mark.parametrize(("document", "asked"), [(COST, OF_TABLE), (LATENCY, OF_LOAD)], ids=["cost", "latency"])
def test_every_changed_value_predicts_or_is_refused(file, document, asked):
    for path, value in product(places(document), VALUES):
        changed_document = changed(document, path, value)
        predicted(file, changed_document, *asked)
        summed(file, changed_document)
