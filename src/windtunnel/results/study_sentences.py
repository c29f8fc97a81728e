"""What a study says in sentences: its findings, the state of the host, invalid runs, and how it goes on."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from windtunnel.errors import as_argument
from windtunnel.format import DASH
from windtunnel.measure.study.columns import EVENT_NOTES, event_columns
from windtunnel.measure.study.findings import Finding, Sample, find, samples, workloads
from windtunnel.measure.study.record import StudyRecord
from windtunnel.measure.study.study import Study
from windtunnel.results import study_metrics

_WHAT_NOW = "They were repeated as often as `retries` allows, and the same command runs nothing more. --out NEW runs the study again."
_REJECTED = " --include-invalid takes in what they measured."


def findings(study: Study) -> list[str]:
    """The finding for the first metric of every workload; of a spread study on each testbed."""
    sentences = []
    for testbed, part in study.parts.items():
        rows = part.blocked.rows
        metric = study_metrics.chosen(study.record.metrics, rows)[0]
        on = f"On {testbed}: " if testbed else ""
        sentences += [f"{on}{_finding(study.record, rows, metric, workload)}" for workload in workloads(rows)]
    return sentences


def point_name(record: StudyRecord, number: int) -> str:
    """ "inflight 64, cores 1": the point by its factors that have several levels."""
    cells = record.point(number).cells
    changing = [f for f in record.factors if len(f.levels) > 1] or record.factors
    return ", ".join(f"{f.name} {next(x.label for x in f.levels if x.cell == cells[f.name])}" for f in changing)


def state_sentence(study: Study) -> str:
    """As in "state of the host one-l3: 4 of 60 runs repeated for their state, 1 missed it still, excluded"; empty if no state is known."""
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


def invalid_sentence(study: Study) -> str:
    """How many runs are invalid, why most of them are, and what can be done about it. At least one is."""
    counted = (
        f"{study.invalid} of {study.finished} runs are invalid{_included(study)}. Most often: {_most_often(study)}"
    )
    if study.interrupted:
        return counted
    return f"{counted}. {_WHAT_NOW}{'' if study.included else _REJECTED}"


def left_out_sentence(levels: Iterable[int], points: int, constraints: Sequence[str]) -> str:
    """How many combinations of the factors' levels the constraints leave out, and by which; empty if none is. `levels`: their number by
    factor."""
    combinations = math.prod(levels)
    if not constraints or combinations == points:
        return ""
    return (
        f"{combinations - points} of {combinations} combinations are left out by constraints: {'; '.join(constraints)}"
    )


def event_notes(rows: Sequence[dict[str, Any]], event: str) -> list[str]:
    """What is to be known of an event that the study counts, each once: why a run could not count it, or how one did."""
    notes = (note.partition(": ") for row in rows for note in row[EVENT_NOTES] or ())
    return list(dict.fromkeys(words for of, _, words in notes if of == event))


def not_counted(study: Study) -> Iterator[str]:
    """A sentence for each reason, about the events that no run has counted."""
    reasons: dict[str, list[str]] = {}
    for column, event in event_columns(study.record.counters).items():
        if all(row[column] is None for row in study.rows):
            reasons.setdefault("; ".join(event_notes(study.rows, event)), []).append(event)
    for reason, events in reasons.items():
        yield f"not counted here: {', '.join(events)}{f': {reason}' if reason else ''}"


def how_to_go_on(study: Study) -> str:
    """The command that runs what is left of an interrupted study."""
    left = study.due - study.finished
    return f"stopped: {left} of {study.due} runs are left; continue with: windtunnel study {as_argument(study.path)}"


def _finding(record: StudyRecord, rows: Sequence[dict[str, Any]], metric: str, workload: str | None) -> str:
    """The finding for one metric, with its limits."""
    finding = find(samples(rows, metric, workload), study_metrics.lower_is_better(metric))
    of = f"{metric} of {workload}" if workload else metric
    if finding is None:
        return f"No valid run has {of}."
    best, second = finding.best, finding.second
    extreme = "Lowest" if study_metrics.lower_is_better(metric) else "Highest"
    first = f"{extreme} {of}: {_value(metric, best)}{_interval(metric, finding)} at {point_name(record, best.point)}."
    if second is None:
        return f"{first} There is no other point to compare it with."
    runner_up = f"{_value(metric, second)} at {point_name(record, second.point)}"
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


def _included(study: Study) -> str:
    if not study.included:
        return " and excluded"
    rest = study.invalid - study.included
    return f"; {study.included} included (--include-invalid)" + (f", {rest} without metrics" if rest else "")


def _most_often(study: Study) -> str:
    """The reason with which most of the invalid runs begin. Figures in it differ from run to run, so the code decides, and the first one is
    shown."""
    reasons: list[str] = [row["reasons"][0] for row in study.rows if not row["valid"]]
    ((code, _),) = Counter(reason.partition(":")[0] for reason in reasons).most_common(1)
    return next(reason for reason in reasons if reason.startswith(code))
