"""Marks of a study of tables: the size that fills the L3, and L(1), the cost with one entry on one core."""

import itertools
import math
import re
import statistics
from collections.abc import Iterator, Sequence

from pydantic import TypeAdapter, ValidationError

from windtunnel.format import size
from windtunnel.host.caches import Cache
from windtunnel.measure.study.columns import METRICS
from windtunnel.measure.study.findings import samples, workloads
from windtunnel.measure.study.record import FactorRecord, StudyRecord
from windtunnel.measure.study.study import Study
from windtunnel.parts.tables.lookup_memory import lookup_bytes
from windtunnel.parts.tables.planned_tables import tables_of
from windtunnel.results import study_metrics
from windtunnel.results.charts.marks import Mark, first_runs
from windtunnel.results.charts.study import cores_of
from windtunnel.runs import Run
from windtunnel.runs.summary import summarise

_ENTRIES = re.compile(r"workload\.(\d+)\.table\.(\d+)\.entries")
_CACHES = TypeAdapter(list[Cache])
Cell = bool | int | float | str
_ALIKE = 1.05
"""Sizes of two lines within this ratio are one mark."""
_COSTS = frozenset(name for name in METRICS if name.endswith("_ns")) | study_metrics.LATENCY
_MOST = 4
"""Levels of other factors that have marks of their own: more would hide the curves."""


def marks(study: Study) -> Iterator[Mark]:
    """The marks of a study that changes the entries of a table; none of another one."""
    axis = entries_factor(study.record)
    if axis is not None:
        yield from _fills_l3(study, *axis)
        yield from _baseline(study, axis[0])


def entries_factor(record: StudyRecord) -> tuple[FactorRecord, int, int] | None:
    """The first factor that changes a table's entries, with the places of its workload and table."""
    for factor in record.factors:
        for key in factor.keys:
            if (of := _ENTRIES.fullmatch(key)) and factor.type in ("BIGINT", "DOUBLE"):
                return factor, int(of[1]), int(of[2])
    return None


def _fills_l3(study: Study, factor: FactorRecord, workload: int, place: int) -> Iterator[Mark]:
    l3 = _l3(study.record)
    if l3 is None:
        return
    lines: dict[tuple[tuple[str, Cell], ...], list[tuple[float, float]]] = {}
    for point, run in first_runs(study).items():
        cells = study.record.point(point).cells
        others = tuple((name, cell) for name, cell in cells.items() if name != factor.name)
        if bytes_ := _bytes(run, workload, place, float(cells[factor.name])):
            lines.setdefault(others, []).append((float(cells[factor.name]), bytes_))
    sizes = {others: entries for others, line in lines.items() if (entries := filling(line, l3))}
    for others, entries in itertools.islice(_by_what_matters(sizes).items(), _MOST):
        of = "".join(f", {name} {cell}" for name, cell in others)
        source = (
            f"fills the L3{of}: {float(f'{entries:.3g}'):,.0f} entries, by the handler’s counter memory, have the {size(l3)} of the L3 that the kernel reports; how "
            "much of it this host gets is not known"
        )
        yield Mark(f"fills the L3{of}", source, over=factor.name, at=entries, only=dict(others))


def _l3(record: StudyRecord) -> int | None:
    """Bytes of the L3 of the study's host; None if it is not known."""
    try:
        caches = _CACHES.validate_python(record.host.get("caches") or [])
    except ValidationError:  # of a record that somebody sent
        return None
    return next((cache.bytes for cache in caches if cache.level == 3), None)


def _by_what_matters(sizes: dict[tuple[tuple[str, Cell], ...], float]) -> dict[tuple[tuple[str, Cell], ...], float]:
    """The sizes by the cells of those factors alone that change them."""
    for name in dict.fromkeys(name for others in sizes for name, _ in others):
        groups: dict[tuple[tuple[str, Cell], ...], list[float]] = {}
        for others, entries in sizes.items():
            groups.setdefault(tuple(pair for pair in others if pair[0] != name), []).append(entries)
        if all(max(group) <= _ALIKE * min(group) for group in groups.values()):
            sizes = {others: statistics.median(group) for others, group in groups.items()}
    return sizes


def _bytes(run: Run, workload: int, place: int, entries: float) -> float | None:
    """The memory that lookups read in one run; None if the handler does not count it."""
    tables = tables_of(engine.plan for engine in run.record.engines)
    if workload >= len(tables) or place >= len(tables[workload]):
        return None
    table = tables[workload][place]
    rows = (row for row in summarise(run).counters if (row.of, row.name) == (table["name"], "memory"))
    memory = next((float(row.value) for row in rows), 0.0)
    return lookup_bytes(table, memory, entries) if memory else None


def filling(line: Sequence[tuple[float, float]], capacity: float) -> float | None:
    """Entries at which the bytes reach a capacity: between two measured sizes, by ratios. None if no two sizes enclose it."""
    for (entries, bytes_), (more, most) in itertools.pairwise(sorted(line)):
        if bytes_ <= capacity < most:
            share = math.log(capacity / bytes_) / math.log(most / bytes_)
            return float(entries * (more / entries) ** share)
    return None


def _baseline(study: Study, factor: FactorRecord) -> Iterator[Mark]:
    """L(1) of every cost and latency: the median of the runs with one entry on one core; one for each level of the other factors."""
    record, rows = study.record, study.blocked.rows
    cores = cores_of(record)
    if len(workloads(rows)) != 1:
        return
    (workload,) = workloads(rows)
    others = [f for f in record.factors if f is not factor and f is not cores]
    for metric in {*study_metrics.chosen(record.metrics, rows), "p50"} & _COSTS:
        of_one = [s for s in samples(rows, metric, workload) if _is_one(record, s.point, factor, cores)]
        for sample in of_one[:_MOST]:
            cells = record.point(sample.point).cells
            only = {f.name: cells[f.name] for f in others if len(f.levels) > 1}
            of = "".join(f", {name} {cell}" for name, cell in only.items())
            words = f"L(1){of}: {study_metrics.text(metric, sample.median)}, {metric} with one entry on one core, the median of its runs"
            yield Mark(f"L(1){of}", words, metrics=frozenset({metric}), at=sample.median, only=only)


def _is_one(record: StudyRecord, point: int, factor: FactorRecord, cores: FactorRecord | None) -> bool:
    cells = record.point(point).cells
    one_core = cores is None or any(level.label == "1" and level.cell == cells[cores.name] for level in cores.levels)
    return one_core and cells[factor.name] == 1
