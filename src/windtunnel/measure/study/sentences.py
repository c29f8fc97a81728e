"""A finding in a sentence or two."""

from collections.abc import Sequence
from typing import Any

from windtunnel.measure.study import figures
from windtunnel.measure.study.findings import Finding, Sample, find, samples, workloads
from windtunnel.measure.study.record import StudyRecord
from windtunnel.runs.format import DASH


def point_words(record: StudyRecord, number: int) -> str:
    """ "inflight 64, cores 1": the point by those factors that change at all."""
    cells = record.point(number).cells
    changing = [f for f in record.factors if len(f.levels) > 1] or record.factors
    return ", ".join(f"{f.name} {next(x.label for x in f.levels if x.cell == cells[f.name])}" for f in changing)


def sentences(record: StudyRecord, figure: str, workload: str | None, finding: Finding | None) -> str:
    """What follows from the data for one figure, and what does not."""
    of = f"{figure} of {workload}" if workload else figure
    if finding is None:
        return f"No valid run has {of}."
    best, second = finding.best, finding.second
    extreme = "lowest" if figures.lower_is_better(figure) else "highest"
    said = f"The {extreme} {of}: {point_words(record, best.point)} with {_figure(figure, best)}{_interval(figure, finding)}."
    if second is None:
        return f"{said} There is no other point to hold it against."
    next_best = f"the next, {point_words(record, second.point)} with {_figure(figure, second)}"
    if finding.differs is None:
        return f"{said} One run a point, or values of 0, cannot tell whether it differs from {next_best}."
    low, high = finding.ratio_interval
    by = f"a factor of {finding.ratio:.3g} (95% interval {low:.3g} to {high:.3g})"
    if finding.differs:
        return f"{said} It differs beyond noise from {next_best}: {by}."
    return f"{said} Noise explains its difference from {next_best}: {by}."


def _figure(figure: str, sample: Sample) -> str:
    mean = "geometric mean" if min(sample.values) > 0 else "median"
    runs = f"{mean} of {len(sample.values)} runs" if len(sample.values) > 1 else "one run"
    return f"{figures.text(figure, sample.middle)} ({runs})"


def _interval(figure: str, finding: Finding) -> str:
    if finding.interval is None:
        return ""
    low, high = (figures.text(figure, value) for value in finding.interval)
    return f", 95% interval {low} to {high}" if DASH not in (low, high) else ""


def all_sentences(record: StudyRecord, rows: Sequence[dict[str, Any]]) -> list[str]:
    """What follows for the first figure, of every workload."""
    figure = figures.chosen(record.figures, rows)[0]
    return [_of(record, rows, figure, workload) for workload in workloads(rows)]


def _of(record: StudyRecord, rows: Sequence[dict[str, Any]], figure: str, workload: str | None) -> str:
    finding = find(samples(rows, figure, workload), figures.lower_is_better(figure))
    return sentences(record, figure, workload, finding)
