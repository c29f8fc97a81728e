"""Reads a study as data to fit: one cost a run, by the size of the table and the other factors.

The axis is found by a factor's path in the scenario (`workload.0.table.0.entries`, `client.rate`), whatever the name of its column.
The cost of a packet is one of

table      the step of the axis' table, if handlers name their steps
pipeline   work and stall of all stages of the server
a column   of the study's table: ..._mpps and ..._per_s become ns per packet and core, ..._ns stays as it is
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from windtunnel.errors import UserError, as_argument
from windtunnel.measure.study import query, record
from windtunnel.measure.study.columns import has_metrics
from windtunnel.measure.study.record import FactorRecord, StudyRecord
from windtunnel.parts.models.measured_runs import Parts, parts_of
from windtunnel.parts.models.model_record import Neighbour
from windtunnel.parts.models.neighbour import CostedRun, corrected, neighbour_of
from windtunnel.parts.models.points import Points
from windtunnel.parts.models.states import of_one_state
from windtunnel.scenario.quantities import parse

ENTRIES = re.compile(r"workload\.(\d+)\.table\.(\d+)\.entries")
RATE = re.compile(r"(client|workload\.\d+)\.rate")
SERVER_STAGES = ("nic_rx", "disp_rx", "app_rx", "disp_tx", "nic_tx")
TABLE, PIPELINE = "table", "pipeline"
CORES = "cores"
LEAST_NS, MOST_NS = 1e-3, 1e12
"""Bounds of a cost."""
SCALES = {"_ns": 1, "_mpps": 1e3, "_per_s": 1e9}
"""Suffix of a column that is a cost or a rate -> ns per packet at a value of 1."""


@dataclass(frozen=True)
class ObservedRun:
    """One valid run."""

    point: int
    entries: float
    cores: int
    ns: float
    """Cost per packet and core, corrected for another hardware thread on the core."""
    bytes: float | None
    """Memory of the table by its own counter. None: it has none."""
    parts: Parts | None
    """The parts from its run directory, which the study's table lacks."""


@dataclass(frozen=True)
class Series:
    """Runs that differ only in the axis and in the number of cores."""

    settings: dict[str, Any]
    """Path of every other factor -> its cell."""
    runs: tuple[ObservedRun, ...]

    @property
    def name(self) -> str:
        return ", ".join(f"{path.rpartition('.')[2]} {value}" for path, value in self.settings.items()) or "all points"

    def sizes(self) -> list[float]:
        return sorted({run.entries for run in self.runs})

    def at(self, entries: float) -> list[ObservedRun]:
        return [run for run in self.runs if run.entries == entries]


@dataclass(frozen=True)
class ObservedStudy:
    """A study, read for a model."""

    path: Path
    record: StudyRecord
    axis: str
    """Path of the axis."""
    response: str
    series: tuple[Series, ...]
    state: str | None = None
    """Host state of all runs; None: not known."""
    neighbour: Neighbour | None = None
    """The correction of the costs."""
    left_out: list[str] = field(default_factory=list)
    """Sentences: runs that are not in the series, and why."""
    doubts: list[str] = field(default_factory=list)
    """Sentences from `doubts`."""


def axis_of(kept: StudyRecord, pattern: re.Pattern[str]) -> tuple[FactorRecord, str] | None:
    """The first factor with a key of this pattern that changes, and that key."""
    for factor in kept.factors:
        for key in factor.keys:
            if pattern.fullmatch(key) and len(factor.levels) > 1:
                return factor, key
    return None


def number_of(cell: float | str, kind: str) -> float:
    """A cell of the axis; a text as scenarios write this kind of quantity, as "1k". Raises UserError for another text, and for a number that is
    not above 0."""
    try:
        number = float(parse(kind, cell) if isinstance(cell, str) else cell)
    except ValueError as error:
        raise UserError(f"a size or load of the study: {error}", remedy="factors of numbers") from None
    if not 0 < number < math.inf:
        raise UserError(f"a size or load of the study is {number:g}", remedy="factors of numbers above 0")
    return number


def table_axis(path: Path, kept: StudyRecord) -> tuple[FactorRecord, str]:
    """The factor that changes a table's entries, and its key. Raises UserError if there is none."""
    factor_and_key = axis_of(kept, ENTRIES)
    if factor_and_key is None:
        names = ", ".join(key for factor in kept.factors for key in factor.keys)
        raise UserError(
            f"{path}: no factor changes a table's entries: its factors are {names or 'none'}",
            remedy="a study with a factor whose key is workload.0.table.0.entries, or for latency one of client.rate",
        )
    return factor_and_key


def observe(path: Path, response: str | None = None, include_invalid: bool = False) -> ObservedStudy:
    """Reads a study whose axis is a table's entries. `response`: as above; by default the table's step, else the pipeline.
    `include_invalid`: with the rejected metrics that the study's table has.

    Raises UserError for a directory that is not a study, has no such axis, or no valid run.
    """
    kept = record.read(path / record.NAME)
    factor, axis = table_axis(path, kept)
    rows = query.all_rows(path, kept)
    used, sentences = usable(rows, include_invalid)
    of_state = of_one_state(path, used)
    valid, shared = _with_parts(of_state.rows, path)
    sentences += of_state.left_out
    sentences += _left_out_sentences(shared, "on a shared core")
    chosen = response or (TABLE if valid and all(_table_ns(parts, axis) for _, parts in valid) else PIPELINE)
    groups: dict[tuple[tuple[str, Any], ...], list[ObservedRun]] = {}
    for row, parts in valid:
        cores = max(1, len(kept.point(row["point"]).cpus.get("server", [])))
        ns = _cost(row, parts, chosen, axis, cores, path)
        if ns is None or not LEAST_NS <= ns <= MOST_NS:
            sentences.append(f"{row['directory']}: its cost ({chosen}) is {ns}")
            continue
        settings = settings_of(kept, row["point"], factor)
        groups.setdefault(tuple(settings.items()), []).append(
            ObservedRun(
                row["point"],
                number_of(row[factor.name], "count"),
                cores,
                ns,
                parts.bytes_of(parts.table_at(axis)) if parts else None,
                parts,
            )
        )
    if not groups:
        raise UserError(
            f"{path}: nothing to fit: {'; '.join(sentences) or 'no run has finished'}",
            remedy=f"windtunnel study {as_argument(path)} executes the missing runs; --of selects another cost",
        )
    neighbour = neighbour_of([_costed(run) for runs in groups.values() for run in runs])
    series = tuple(
        Series(dict(settings), tuple(_alone(run, neighbour) for run in runs)) for settings, runs in groups.items()
    )
    return ObservedStudy(path, kept, axis, chosen, series, of_state.state, neighbour, sentences, doubts(used))


def usable(rows: list[dict[str, Any]], include_invalid: bool) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows of a study that a model may use, and a sentence on those that are left out."""
    used = [row for row in rows if row["valid"] or (include_invalid and has_metrics(row))]
    return used, _left_out_sentences(len(rows) - len(used), "invalid")


def doubts(used: list[dict[str, Any]]) -> list[str]:
    """Sentences on what makes these rows worse than those of valid runs with the default limits."""
    invalid = sum(not row["valid"] for row in used)
    relaxed = dict.fromkeys(limit for row in used for limit in row["relaxed"] or ())
    reasons = [f"{invalid} invalid run{'' if invalid == 1 else 's'}"] if invalid else []
    return reasons + ([f"relaxed limits: {', '.join(relaxed)}"] if relaxed else [])


def _with_parts(rows: list[dict[str, Any]], path: Path) -> tuple[list[tuple[dict[str, Any], Parts | None]], int]:
    """Rows with their run directories, and how many had a shared core in every window."""
    parts = parts_of([path / row["directory"] for row in rows], [row["point"] for row in rows])
    kept = [
        (row, run_parts) for row, run_parts in zip(rows, parts, strict=True) if run_parts is None or run_parts.windows
    ]
    return kept, len(rows) - len(kept)


def _costed(run: ObservedRun) -> CostedRun:
    return CostedRun(run.point, run.ns, run.parts.wide_ticks if run.parts else None)


def _alone(run: ObservedRun, neighbour: Neighbour | None) -> ObservedRun:
    return replace(run, ns=corrected(run.ns, run.parts.wide_ticks if run.parts else None, neighbour))


def settings_of(kept: StudyRecord, point: int, axis: FactorRecord) -> dict[str, Any]:
    """Path -> cell of the point's other factors. The number of cores is not one of them: the cost is that of one core."""
    cells = kept.point(point).cells
    others = [factor for factor in kept.factors if factor is not axis and not is_cores(factor)]
    return {factor.keys[0]: cells[factor.name] for factor in others}


def is_cores(factor: FactorRecord) -> bool:
    return factor.name == CORES or all(key.endswith((".dispatchers", ".cores")) for key in factor.keys)


def points_of(series: Series, ns: Sequence[float] | None = None) -> Points:
    """Medians by size, in its order. `ns`: other costs of the same runs."""
    costs = np.array([run.ns for run in series.runs] if ns is None else ns, float)
    entries = np.array([run.entries for run in series.runs], float)
    sizes = np.array(series.sizes())
    medians = np.array([np.median(costs[entries == size]) for size in sizes])
    return Points(sizes, np.array([size for _, size in working_sets(series)]), medians)


def working_sets(series: Series) -> list[tuple[float, float]]:
    """Entries and bytes: by the table's own counter, else ENTRY_BYTES an entry."""
    sizes = series.sizes()
    counted_bytes = [[run.bytes for run in series.at(n) if run.bytes] for n in sizes]
    if all(counted_bytes):
        return [(n, float(np.median(bytes_))) for n, bytes_ in zip(sizes, counted_bytes, strict=True)]
    return [(n, n * ENTRY_BYTES) for n in sizes]


ENTRY_BYTES = 64.0
"""Bytes of an entry if the table does not count them: one cache line."""


def noise_floor(series: Series) -> float | None:
    """Mean absolute difference, as a share, between one run and the median of the others of its size. No model can have a
    smaller error. None if no size has two runs."""
    deviations: list[float] = []
    for size in series.sizes():
        for cores in {run.cores for run in series.at(size)}:
            ns = [run.ns for run in series.at(size) if run.cores == cores]
            deviations += [
                abs(np.median(ns[:i] + ns[i + 1 :]) / run_ns - 1) for i, run_ns in enumerate(ns) if len(ns) > 1
            ]
    return float(np.mean(deviations)) if deviations else None


def _left_out_sentences(count: int, reason: str) -> list[str]:
    return [f"left out: {count} run{'' if count == 1 else 's'} {reason}"] if count else []


def _table_ns(parts: Parts | None, axis: str) -> float | None:
    table = parts.table_at(axis) if parts else None
    return parts.steps.get(table["name"]) if parts and table else None


def _cost(row: dict[str, Any], parts: Parts | None, response: str, axis: str, cores: int, path: Path) -> float | None:
    if response == TABLE:
        return _table_ns(parts, axis)
    if response == PIPELINE:
        if parts and parts.pipeline_ns is not None:
            return parts.pipeline_ns
        spent = [row.get(f"server_{stage}_{part}_ns") for stage in SERVER_STAGES for part in ("work", "stall")]
        return sum(ns for ns in spent if ns is not None) or None
    if response not in row:
        raise UserError(
            f"{path}: its table has no column {response}", remedy=f"--of {TABLE}, {PIPELINE}, or a column of the study"
        )
    scale = next((scale for end, scale in SCALES.items() if response.endswith(end)), None)
    if scale is None:
        raise UserError(
            f"--of {response}: not a cost and not a rate", remedy="a column whose name ends in _ns, _mpps or _per_s"
        )
    value: float | None = row[response]
    if value is None or scale == 1:
        return value
    return scale * cores / value if value else None
