"""The registry has every metric that rows have, and every counter that the engine counts."""

import re
from dataclasses import fields

import pytest
import sample_lines as sample
from hypothesis import given
from hypothesis import strategies as st
from part_samples import part_samples
from properties import examples

from windtunnel.engine.counted import counters_of, levels_of
from windtunnel.engine.lines import Hello
from windtunnel.engine.windows import PoolLevel, RingLevel, StageWindow, Window, WorkloadWindow
from windtunnel.part_registry import part_modules
from windtunnel.results.metric_columns import metric_columns, value_text
from windtunnel.runs import rows
from windtunnel.runs.metrics import stage_rows
from windtunnel.runs.registry import COUNTERS, STAGE_COUNTERS, metrics
from windtunnel.runs.registry.percentiles import PERCENTILES, Latency
from windtunnel.schemas.generate import CHECKOUT

LINES = sample.engine_lines(sample.plan())
HELLO = next(line for line in LINES if isinstance(line, Hello))
WINDOWS = [line for line in LINES if isinstance(line, Window)]
ROWS = {
    "stage": rows.StageRow,
    "step": rows.StepRow,
    "counter": rows.HandlerCounterRow,
    "worker": rows.WorkerRow,
    "port": rows.PortRow,
    "workload": rows.WorkloadRow,
    "phase": rows.PhaseRow,
    "level": rows.LevelRow,
} | dict(pair for of_part in part_samples("ROWS") for pair in of_part.items())
PLACES = {"endpoint", "stage", "instances", "step", "traffic", "copier", "of", "name", "unit", "kind", "worker", "cpu", "sides"} | {
    "workload", "loop", "state", "phase", "load", "result", "drops", "burst", "counters"
}  # fmt: skip
"""Fields that say which row it is, or that hold what other entries are made from."""
BY_ANOTHER_NAME = {
    "objects": "mpps",
    "interrupted_calls": "interrupted_share",
    "stalled_calls": "counters.stalled_calls",
}


def test_every_field_of_every_row_has_its_entry():
    for noun, row in ROWS.items():
        entries = {part for metric in metrics(noun) for part in (metric.name, metric.name.split(".")[0])}
        found = {BY_ANOTHER_NAME.get(field.name, field.name) for field in fields(row)} - PLACES
        assert found <= entries, f"{noun}: {found - entries}"


def test_entries_are_complete_and_unique():
    every = [
        metric
        for noun in {*ROWS, "endpoint", *(part.NOUN for part in part_modules("rows"))}
        for metric in metrics(noun)
    ]
    for metric in every:
        assert metric.unit and metric.formula and metric.error and value_text(metric.form, 0), metric
    names = [(metric.noun, metric.name) for metric in every]
    assert len(names) == len(set(names))
    for noun in ROWS:
        named = [metric.column for metric in metrics(noun) if metric.column]
        assert len(named) == len(set(named)), noun


def test_every_percentile_of_a_latency_is_declared_with_it_and_in_ascending_order():
    times = {field.name for field in fields(Latency)} - {"maximum", "samples"}
    assert {percentile.field for percentile in PERCENTILES} == times
    assert [percentile.percent for percentile in PERCENTILES] == sorted({each.percent for each in PERCENTILES})


def test_every_counter_and_level_has_a_help_text():
    assert all(counter.help and counter.unit for of in COUNTERS.values() for counter in of)
    levels = [level for model in (WorkloadWindow, RingLevel, PoolLevel) for level in levels_of(model)]
    assert all(level.help and level.unit for level in levels) and len(levels) == 6


@pytest.mark.parametrize(
    ("model", "line", "derived"),
    [(StageWindow, "stage", {"calls", "empty_calls", "stalled_calls", "objects"}), (WorkloadWindow, "workload", set())],
)
def test_engine_and_python_name_the_same_counters(model, line, derived):
    text = (CHECKOUT / "engine" / "core" / "counters.h").read_text()
    listed = set(re.findall(rf"X\((\w+), {line}, (?:shown|hidden)\)", text))
    if line == "stage":
        parts = [file.read_text() for file in (CHECKOUT / "engine" / "parts").glob("*/meson.build")]
        listed |= {f"stalled_for_{name}" for build in parts for name in re.findall(r"part_stalls \+= '(\w+)'", build)}
    assert listed | derived == {counter.name for counter in counters_of(model)}


@examples(12)
@given(st.integers(0, 5), st.integers(0, 1 << 40), st.integers(0, 1 << 40))
def test_sums_are_of_all_windows_and_null_is_not_zero(at, first, second):
    windows = [line for line in WINDOWS if line.phase == "measure"][:2]

    def summed(name: str, *values: int | None) -> set[int | None]:
        changed = [
            window.model_copy(update={"stages": [stage.model_copy(update={name: value}) for stage in window.stages]})
            for window, value in zip(windows, values, strict=True)
        ]
        return {row.counters[name] for row in stage_rows(changed, HELLO)}

    assert summed(STAGE_COUNTERS[3 + at], first, second) == {first + second}
    assert summed("traffic_cycles", None, second) == {None}


@pytest.mark.parametrize(
    ("noun", "first_left_out"),
    [
        ("stage", ["stalled calls", "net ns", "empty calls", "interrupted", "idle", "busy", "burst"]),
        ("worker", ["Mloops/s", "own traffic", "preempted"]),
        (
            "port",
            ["packets per doorbell", "rx packets", "tx packets", "rx burst", "tx burst", "rx Gbit/s", "tx Gbit/s"],
        ),
        ("step", ["ns/these", "packets", "time stamps"]),
        (
            "workload",
            [
                "p50 from send",
                "duplicates",
                "p90",
                "p99.9",
                "late",
                "offered",
                "p99 from send",
                "pacing p99",
                "unsent",
                "max",
            ],
        ),
    ],
)
def test_a_narrow_table_leaves_out_what_is_needed_least(noun, first_left_out):
    spare = [(-one.table.spare, one.table.head) for one in metrics(noun) if one.table and one.table.spare]
    assert [head for _, head in sorted(spare)] == first_left_out


def test_tables_have_the_columns_of_the_registry():
    made = stage_rows(WINDOWS, HELLO)
    heads = [column.head for column in metric_columns("stage", made).values()]
    assert heads == [metric.table.head for metric in metrics("stage") if metric.table]
    assert heads[-1] == "stalled calls"
