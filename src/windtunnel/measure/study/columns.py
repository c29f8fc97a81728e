"""The columns of a study's table, each with its type and meaning; docs/studies.md has them.

Latencies and times are ns, shares lie between 0 and 1. NULL is "not measured", and what an invalid run would have measured.
"""

from dataclasses import asdict
from datetime import UTC
from typing import Any

from windtunnel.runs import Run
from windtunnel.runs.metrics import TRAVEL, ratio
from windtunnel.runs.path import derived_mpps, packet_ns
from windtunnel.runs.rows import PortRow, StageRow, WorkerRow, WorkloadRow
from windtunnel.runs.summary import Summary, summarise

SIDES = ("client", "server")
STAGES = tuple((side, stage) for side in SIDES for stage in TRAVEL[side] if (side, stage) != ("server", "app_tx"))

RUN = {
    "point": ("INTEGER", "number of the point"),
    "repeat": ("INTEGER", "which flight of the point, from 1"),
    "attempt": ("INTEGER", "1; more where an invalid run was flown again"),
    "started": ("TIMESTAMP", "when the run began, UTC"),
    "valid": ("BOOLEAN", "whether its figures may be used"),
    "reasons": ("VARCHAR[]", "why not; empty for a valid run"),
    "directory": ("VARCHAR", "the run directory, relative to the study's"),
    "memory": ("VARCHAR", "hugepages or no-huge"),
    "measured_s": ("DOUBLE", "measured time, s"),
    "workload": ("VARCHAR", "whose figures the following are; NULL where no client flew"),
}
COUNTS = {
    "offered": "messages that were due",
    "answered": "messages answered",
    "lost": "messages given up after their timeout",
    "late": "answers that came after that",
    "unsent": "messages due and waiting at the end",
}
LATENCIES = {name: name for name in ("p50", "p90", "p99", "p999", "p9999", "p99999", "p999999")} | {"max": "maximum"}
WORKLOAD = {
    **{name: ("BIGINT", words) for name, words in COUNTS.items()},
    **{f"{name}_per_s": ("DOUBLE", f"{words}, a second") for name, words in COUNTS.items()},
    **{name: ("BIGINT", f"latency from the intended send time, {name}, ns") for name in LATENCIES},
    **{f"sent_{name}": ("BIGINT", f"latency from the real send time, {name}, ns") for name in LATENCIES},
}
OF_STAGE = {
    "work_ns": ("DOUBLE", "work a packet, ns"),
    "stall_ns": ("DOUBLE", "stall a packet, ns"),
    "burst": ("DOUBLE", "mean objects of a call that had some"),
    "busy": ("DOUBLE", "share of its workers' time"),
    "drops": ("BIGINT", "packets dropped"),
}
OF_SIDE = {
    "rx_mpps": ("DOUBLE", "packets received, millions a second"),
    "tx_mpps": ("DOUBLE", "packets sent, millions a second"),
    "packet_ns": ("DOUBLE", "work and stall of a packet in all stages of the side, ns"),
    "derived_mpps": (
        "DOUBLE",
        "millions of packets a second that its workers could pass if they did nothing else: derived, not measured",
    ),
    "idle": ("DOUBLE", "share of polling in vain, of the side's worker that had the least"),
    "preempted": ("DOUBLE", "share of the time in which the kernel ran others, of the worker that suffered most"),
}


def _all() -> dict[str, tuple[str, str]]:
    per_side = {f"{side}_{name}": of for side in SIDES for name, of in OF_SIDE.items()}
    per_stage = {f"{side}_{stage}_{name}": of for side, stage in STAGES for name, of in OF_STAGE.items()}
    return RUN | WORKLOAD | per_side | per_stage


COLUMNS = _all()
"""Name -> DuckDB type and meaning. The factors' columns stand behind `reasons`."""
COLUMN_NAMES = frozenset(COLUMNS) | {"study"}
FIGURES = frozenset(name for name, (kind, _) in COLUMNS.items() if name not in RUN and kind != "VARCHAR")
"""Columns that can be drawn."""


def rows_of(run: Run, place: dict[str, Any]) -> list[dict[str, Any]]:
    """One row a workload of the run, or one of ports and stages where no client flew. `place` is what the study knows of it."""
    record = run.record
    known = place | {
        "started": record.started.astimezone(UTC).replace(tzinfo=None),  # DuckDB needs a package of its own for zones
        "valid": record.verdict.valid,
        "reasons": list(record.verdict.reasons),
        "memory": record.memory,
    }
    if not record.verdict.valid:
        return [_row(known | {"workload": name}) for name in _workloads(run)]
    summary = summarise(run)
    known |= {"measured_s": summary.measured_s}
    for side in SIDES:
        ports = [row for row in summary.ports if row.endpoint == side]
        known |= _of_side(side, ports, [row for row in summary.workers if side in row.sides.split(" + ")])
        known |= _of_packets(side, summary)
    for row in summary.stages:
        known |= _of_stage(row)
    rows = [_row(known | _of_workload(row, summary.measured_s)) for row in summary.workloads]
    return rows or [_row(known)]


def _workloads(run: Run) -> list[str | None]:
    """Names of the workloads that a client of the run offered; one None where there was no client."""
    client = [e for e in run.record.engines if any(endpoint.side == "client" for endpoint in e.plan.endpoints)]
    return [workload.name for engine in client for workload in engine.plan.workloads] or [None]


def _row(known: dict[str, Any]) -> dict[str, Any]:
    return dict.fromkeys(COLUMNS) | known


def _of_workload(row: WorkloadRow, measured_s: float | None) -> dict[str, Any]:
    counts = {name: getattr(row, name) for name in COUNTS}
    values: dict[str, Any] = {"workload": row.workload, **counts}
    values |= {f"{name}_per_s": ratio(count, measured_s) for name, count in counts.items()}
    corrected, raw = asdict(row.latency), asdict(row.latency_sent)
    values |= {name: corrected[field] for name, field in LATENCIES.items()}
    return values | {f"sent_{name}": raw[field] for name, field in LATENCIES.items()}


def _of_side(side: str, ports: list[PortRow], workers: list[WorkerRow]) -> dict[str, float | None]:
    idle = [row.idle_share for row in workers if row.idle_share is not None]
    preempted = [row.preempted_share for row in workers if row.preempted_share is not None]
    return {
        f"{side}_rx_mpps": ports[0].rx_mpps if ports else None,
        f"{side}_tx_mpps": ports[0].tx_mpps if ports else None,
        f"{side}_idle": min(idle, default=None),
        f"{side}_preempted": max(preempted, default=None),
    }


def _of_packets(side: str, summary: Summary) -> dict[str, float | None]:
    steps = [row for row in summary.steps if row.endpoint == side]
    return {
        f"{side}_packet_ns": packet_ns([row for row in summary.stages if row.endpoint == side], steps),
        f"{side}_derived_mpps": derived_mpps(summary.stages, summary.steps, summary.workers, side),
    }


def _of_stage(row: StageRow) -> dict[str, Any]:
    values = (row.work_ns, row.stall_ns, row.mean_burst, row.busy_share, row.dropped)
    return {f"{row.endpoint}_{row.stage}_{name}": value for name, value in zip(OF_STAGE, values, strict=True)}
