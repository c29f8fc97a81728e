"""The columns of a study's table, each with its type and meaning; docs/reference/study.md has them.

Latencies and times are ns, shares lie between 0 and 1. NULL is "not measured", and the rejected metrics of an invalid run, if they were
not asked for.
"""

from collections.abc import Sequence
from datetime import UTC
from typing import Any

from windtunnel.part_registry import part_modules
from windtunnel.runs import Run
from windtunnel.runs.counters import event_totals
from windtunnel.runs.metrics import TRAVEL, ratio
from windtunnel.runs.path import derived_mpps, packet_ns
from windtunnel.runs.registry import Metric, Noun, metrics
from windtunnel.runs.rows import PortRow, StageRow, WorkerRow, WorkloadRow
from windtunnel.runs.summary import Summary, summarise

SIDES = ("client", "server")
STAGES = tuple((side, stage) for side in SIDES for stage in TRAVEL[side] if (side, stage) != ("server", "app_tx"))

RUN = {
    "point": ("INTEGER", "number of the point"),
    "repeat": ("INTEGER", "repeat of the point, from 1"),
    "attempt": ("INTEGER", "number of the attempt; above 1 if an invalid run was repeated"),
    "started": ("TIMESTAMP", "when the run began, UTC"),
    "valid": ("BOOLEAN", "whether its metrics may be used"),
    "reasons": ("VARCHAR[]", "why not; empty for a valid run"),
    "relaxed": ("VARCHAR[]", "validity limits that its scenario relaxed"),
    "directory": ("VARCHAR", "the run directory, relative to the study's"),
    "testbed": ("VARCHAR", "testbed on which it ran; NULL: the host of the command"),
    "memory": ("VARCHAR", "hugepages or no-huge"),
    "host_state": ("VARCHAR", "state of the host that its metrics are of; NULL: not known"),
    "line_ns": (
        "DOUBLE",
        "round trip of a cache line between the CPUs of its workers in that state, or of a small copy to the thread of its copier, ns",
    ),
    "measured_s": ("DOUBLE", "measured time, s"),
    "workload": ("VARCHAR", "workload of the following columns; NULL without a client"),
}


def _in_table(noun: Noun) -> dict[str, Metric]:
    """Column -> metric, as the registry has them."""
    return {metric.column: metric for metric in metrics(noun) if metric.column}


def _meaning(metric: Metric) -> str:
    """The metric's family, formula and unit, for readers of a table."""
    text = f"{metric.family}: {metric.formula}" if metric.family else metric.formula
    return f"{text.replace('**', '')}, {metric.unit}"


def _typed(columns: dict[str, Metric]) -> dict[str, tuple[str, str]]:
    return {name: (metric.sql, _meaning(metric)) for name, metric in columns.items()}


WORKLOAD_METRICS = _in_table("workload")
COUNTS = {name: metric.formula for name, metric in WORKLOAD_METRICS.items() if metric.form == "count"}
LATENCIES = tuple(name for name, metric in WORKLOAD_METRICS.items() if metric.family == "latency")
WORKLOAD = {
    **{name: ("BIGINT", meaning) for name, meaning in COUNTS.items()},
    **{f"{name}_per_s": ("DOUBLE", f"{formula}, a second") for name, formula in COUNTS.items()},
    **_typed({name: metric for name, metric in WORKLOAD_METRICS.items() if name not in COUNTS}),
}
PART_METRICS = {name: of for part in part_modules("rows") for name, of in _in_table(part.NOUN).items()}
STAGE_METRICS = _in_table("stage")
STAGE_COLUMNS = _typed(STAGE_METRICS)
SIDE_METRICS = _in_table("endpoint")
SIDE_COLUMNS = _typed(SIDE_METRICS)


def _all_columns() -> dict[str, tuple[str, str]]:
    per_side = {f"{side}_{name}": of for side in SIDES for name, of in SIDE_COLUMNS.items()}
    per_stage = {f"{side}_{stage}_{name}": of for side, stage in STAGES for name, of in STAGE_COLUMNS.items()}
    return RUN | WORKLOAD | _typed(PART_METRICS) | per_side | per_stage


COLUMNS = _all_columns()
"""Name -> DuckDB type and meaning. The factors' columns stand behind `reasons`."""
COLUMN_NAMES = frozenset(COLUMNS) | {"study"}
EVENT_NOTES = "event_notes"
METRICS = frozenset(name for name, (kind, _) in COLUMNS.items() if name not in RUN and kind != "VARCHAR")
"""Columns that can be drawn."""


def event_columns(events: Sequence[str]) -> dict[str, str]:
    """Column -> event, of the events that a study counts: LLC_load_misses for LLC-load-misses. A value is of one message, or of one packet if
    no client counts responses, all workers together; of a level of resctrl the mean in bytes."""
    return {event.replace("-", "_"): event for event in events}


def event_types(events: Sequence[str]) -> dict[str, str]:
    """DuckDB types of the columns of events, and of their notes: why an event was not counted, or what is to be known of its value."""
    types = dict.fromkeys(event_columns(events), "DOUBLE")
    return types | {EVENT_NOTES: "VARCHAR[]"} if types else types


def has_metrics(row: dict[str, Any]) -> bool:
    """Whether the row has metrics: those of a valid run, or rejected ones that the study was asked for."""
    return row["valid"] or row["measured_s"] is not None


def rows_of(
    run: Run, place: dict[str, Any], include_invalid: bool = False, events: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """One row a workload of the run, or one of ports and stages if no client ran. `place` is what the study knows of it.
    `include_invalid`: with rejected metrics. `events`: those that the study counts. Raises UserError if their lines are damaged."""
    record = run.record
    known = (
        place
        | {
            # DuckDB needs a package of its own for zones
            "started": record.started and record.started.astimezone(UTC).replace(tzinfo=None),
            "valid": record.verdict.valid,
            "reasons": list(record.verdict.reasons),
            "relaxed": record.relaxed,
            "testbed": record.testbed,
            "memory": record.memory,
            "host_state": record.where.state,
            "line_ns": record.where.line_ns,
        }
        | dict.fromkeys(event_types(events))
    )
    if not run.usable(include_invalid):
        return [_row(known | {"workload": name}) for name in _workloads(run)]
    summary = summarise(run)
    known |= {"measured_s": summary.measured_s} | (_event_values(run, events) if events else {})
    for side in SIDES:
        ports = [row for row in summary.ports if row.endpoint == side]
        known |= _side_values(side, ports, [row for row in summary.workers if side in row.sides.split(" + ")])
        known |= _packet_values(side, summary)
    for row in summary.stages:
        known |= _stage_values(row)
    parts: dict[str, dict[str, Any]] = {}
    for part in part_modules("rows"):
        for workload, row in part.by_workload(summary.parts[part.NAME]).items():
            values = {name: metric.of(row) for name, metric in _in_table(part.NOUN).items()}
            parts[workload] = parts.get(workload, {}) | values
    rows = [
        _row(known | _workload_values(row, summary.measured_s) | parts.get(row.workload, {}))
        for row in summary.workloads
    ]
    return rows or [_row(known)]


def _workloads(run: Run) -> list[str | None]:
    """Names of the workloads that a client of the run offered; one None if there was no client."""
    client = [e for e in run.record.engines if any(endpoint.side == "client" for endpoint in e.plan.endpoints)]
    return [workload.name for engine in client for workload in engine.plan.workloads] or [None]


def _row(known: dict[str, Any]) -> dict[str, Any]:
    return dict.fromkeys(COLUMNS) | known


def _workload_values(row: WorkloadRow, measured_s: float | None) -> dict[str, Any]:
    values: dict[str, Any] = {"workload": row.workload} | {
        name: metric.of(row) for name, metric in WORKLOAD_METRICS.items()
    }
    return values | {f"{name}_per_s": ratio(values[name], measured_s) for name in COUNTS}


def _side_values(side: str, ports: list[PortRow], workers: list[WorkerRow]) -> dict[str, float | None]:
    idle = [row.idle_share for row in workers if row.idle_share is not None]
    preempted = [row.preempted_share for row in workers if row.preempted_share is not None]
    return {
        f"{side}_rx_mpps": ports[0].rx_mpps if ports else None,
        f"{side}_tx_mpps": ports[0].tx_mpps if ports else None,
        f"{side}_idle": min(idle, default=None),
        f"{side}_preempted": max(preempted, default=None),
    }


def _packet_values(side: str, summary: Summary) -> dict[str, float | None]:
    if not summary.counts_packets(side):
        return {}
    steps = [row for row in summary.steps if row.endpoint == side]
    return {
        f"{side}_packet_ns": packet_ns([row for row in summary.stages if row.endpoint == side], steps),
        f"{side}_derived_mpps": derived_mpps(summary.stages, summary.steps, summary.workers, side),
    }


def _stage_values(row: StageRow) -> dict[str, Any]:
    return {f"{row.endpoint}_{row.stage}_{name}": metric.of(row) for name, metric in STAGE_METRICS.items()}


def _event_values(run: Run, events: Sequence[str]) -> dict[str, Any]:
    totals = event_totals(run)
    values = {
        column: totals[event].value if event in totals else None for column, event in event_columns(events).items()
    }
    notes = [f"{event}: {total.words}" for event, total in totals.items() if total.words]
    absent = [f"{event}: no window of the run has it" for event in events if event not in totals]
    return values | {EVENT_NOTES: [*notes, *absent]}


def metric_of(column: str) -> tuple[Metric, bool] | None:
    """The metric that a column has, and whether it is a second of it; None for what is none."""
    if column in WORKLOAD_METRICS:
        return WORKLOAD_METRICS[column], False
    if (count := column.removesuffix("_per_s")) in COUNTS and count != column:
        return WORKLOAD_METRICS[count], True
    if column in PART_METRICS:
        return PART_METRICS[column], False
    side, _, name = column.partition("_")
    if side in SIDES and name in SIDE_METRICS:
        return SIDE_METRICS[name], False
    matching = [
        metric for (at, stage) in STAGES for name, metric in STAGE_METRICS.items() if column == f"{at}_{stage}_{name}"
    ]
    return (matching[0], False) if matching else None
