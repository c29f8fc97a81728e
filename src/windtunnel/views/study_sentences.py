"""The findings of a study, in a sentence or two."""

from collections.abc import Sequence
from typing import Any

from windtunnel.format import DASH
from windtunnel.measure.study.findings import Finding, Sample, find, samples, workloads
from windtunnel.measure.study.record import StudyRecord
from windtunnel.measure.study.study import Study
from windtunnel.views import study_metrics


def point_words(record: StudyRecord, number: int) -> str:
    """ "inflight 64, cores 1": the point by its factors that have several levels."""
    cells = record.point(number).cells
    changing = [f for f in record.factors if len(f.levels) > 1] or record.factors
    return ", ".join(f"{f.name} {next(x.label for x in f.levels if x.cell == cells[f.name])}" for f in changing)


def sentences(record: StudyRecord, metric: str, workload: str | None, finding: Finding | None) -> str:
    """The finding for one metric, with its limits."""
    of = f"{metric} of {workload}" if workload else metric
    if finding is None:
        return f"No valid run has {of}."
    best, second = finding.best, finding.second
    extreme = "Lowest" if study_metrics.lower_is_better(metric) else "Highest"
    first = f"{extreme} {of}: {_value(metric, best)}{_interval(metric, finding)} at {point_words(record, best.point)}."
    if second is None:
        return f"{first} There is no other point to compare it with."
    runner_up = f"{_value(metric, second)} at {point_words(record, second.point)}"
    if finding.ratio is None or finding.ratio_interval is None:
        return f"{first} Runner-up: {runner_up}; one run per point, or a value of 0, does not show whether they differ."
    low, high = finding.ratio_interval
    by = f"ratio {finding.ratio:.3g}, 95% interval {low:.3g} to {high:.3g}"
    if finding.differs:
        return f"{first} Distinguishable from the runner-up, {runner_up}: {by}."
    return f"{first} Not distinguishable from the runner-up, {runner_up}: {by}."


def _value(metric: str, sample: Sample) -> str:
    mean = "geometric mean" if min(sample.values) > 0 else "median"
    runs = f"{mean} of {len(sample.values)} runs" if len(sample.values) > 1 else "one run"
    return f"{study_metrics.text(metric, sample.middle)} ({runs})"


def _interval(metric: str, finding: Finding) -> str:
    if finding.interval is None:
        return ""
    low, high = (study_metrics.text(metric, value) for value in finding.interval)
    return f", 95% interval {low} to {high}" if DASH not in (low, high) else ""


def all_sentences(study: Study) -> list[str]:
    """The findings for the first metric, of every workload; of a spread study on each testbed."""
    found = []
    for testbed, part in study.parts.items():
        rows = part.blocked.rows
        metric = study_metrics.chosen(study.record.metrics, rows)[0]
        on = f"On {testbed}: " if testbed else ""
        found += [f"{on}{_of(study.record, rows, metric, workload)}" for workload in workloads(rows)]
    return found


def _of(record: StudyRecord, rows: Sequence[dict[str, Any]], metric: str, workload: str | None) -> str:
    finding = find(samples(rows, metric, workload), study_metrics.lower_is_better(metric))
    return sentences(record, metric, workload, finding)


def state_words(study: Study) -> str:
    """As in "state of the host one-l3: 4 of 60 runs repeated for their state, 1 missed it still, excluded"; empty where no state is known."""
    states = [part.blocked.state for part in study.parts.values()]
    if not any(states):
        return ""
    repeated = f"{study.repeated} of {study.due} runs repeated for their state, " if study.repeated else ""
    missed = (
        f"{study.missed} missed it{' still' * bool(study.repeated)}, excluded" if study.missed else "none missed it"
    )
    on = [
        f"{state or 'not known'}{f' on {name}' if name else ''}"
        for name, state in zip(study.parts, states, strict=True)
    ]
    return f"state of the host {', '.join(on)}: {repeated}{missed}"
