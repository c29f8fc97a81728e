"""Several runs side by side: one column a run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from windtunnel import format as fmt
from windtunnel.host.states import groups
from windtunnel.results.document import (
    Cell,
    Column,
    Document,
    Marked,
    Section,
    Table,
    columns_of,
    first_of_group,
    groups_of,
)
from windtunnel.results.metric_columns import metric_text
from windtunnel.runs.notices import notices, warnings_of
from windtunnel.runs.reader import Run
from windtunnel.runs.record import Record
from windtunnel.runs.registry import Noun, metrics
from windtunnel.runs.summary import Summary, summarise

MOST_WITH_NUMBERS = 4
"""Runs whose values are aligned as numbers. Those of more may wrap, so that all columns have room."""
Row = tuple[str, str, list[Cell]]
"""What it is of, the name of the metric, and a cell a run."""
_FACTS: Mapping[str, Callable[[Record], str]] = {
    "title": lambda record: record.title,
    "verdict": lambda record: record.verdict_words,
    "memory": lambda record: fmt.words(record.memory),
    "wire": lambda record: fmt.words(record.wire),
    "accounting": lambda record: fmt.words(record.accounting),
    "host state": lambda record: fmt.words(record.where.state),
    "labels": lambda record: ", ".join(f"{key}={value}" for key, value in record.labels.items()) or fmt.DASH,
    "emulated": lambda record: ", ".join(mark.removeprefix("emulated on ") for mark in record.emulated) or fmt.DASH,
}


def side_by_side_document(runs: Sequence[Run]) -> Document:
    """A column for each run; rejected metrics with that word. If memory modes or states of the host differ, a warning says that such runs
    cannot be compared."""
    summaries = [summarise(run) if run.has_metrics else None for run in runs]
    rows = [
        *_rows(runs, summaries, "workload", lambda summary: {row.workload: row for row in summary.workloads}),
        *_rows(
            runs, summaries, "stage", lambda summary: {f"{row.endpoint} {row.stage}": row for row in summary.stages}
        ),
    ]
    return Document(
        kind="runs",
        title=f"{len(runs)} runs side by side",
        blocks=[Section("Runs", [_facts(runs)]), *([Section("Metrics", [_metrics(runs, rows)])] if rows else [])],
        warnings=[*_warnings(runs), *_warnings_of_runs(runs, summaries)],
    )


def _facts(runs: Sequence[Run]) -> Table:
    of_runs = [Column(run.path.name, [text(run.record) for text in _FACTS.values()], words=True) for run in runs]
    return Table([Column("", list(_FACTS), words=True), *of_runs])


def _metrics(runs: Sequence[Run], rows: Sequence[Row]) -> Table:
    column, keys = columns_of(rows), [key for key, _, _ in rows]
    wraps = len(runs) > MOST_WITH_NUMBERS
    of_runs = [Column(run.path.name, [cells[n] for _, _, cells in rows], words=wraps) for n, run in enumerate(runs)]
    return Table(
        [Column("", first_of_group(keys), words=True), column("metric", lambda row: row[1], words=True), *of_runs],
        groups_of(keys),
    )


def _rows(
    runs: Sequence[Run],
    summaries: Sequence[Summary | None],
    noun: Noun,
    rows_by_key: Callable[[Summary], dict[str, Any]],
) -> Iterator[Row]:
    """A row for each metric of each key that any run has; a run without that key has a dash."""
    of_runs = [{} if summary is None else rows_by_key(summary) for summary in summaries]
    for key in dict.fromkeys(key for of_run in of_runs for key in of_run):
        for metric in metrics(noun):
            if metric.side_by_side:
                texts = [metric_text(metric, of_run[key]) if key in of_run else fmt.DASH for of_run in of_runs]
                cells: list[Cell] = [
                    _rejected(text) if run.rejected else text for run, text in zip(runs, texts, strict=True)
                ]
                yield key, metric.side_by_side, cells


def _rejected(text: str) -> Marked:
    return Marked(text if text == fmt.DASH else f"{text} rejected", "quiet")


def _warnings(runs: Sequence[Run]) -> Iterator[str]:
    """Why the runs should not be compared."""
    if len({run.record.memory for run in runs}) > 1:
        modes = ", ".join(f"{run.path.name} {run.record.memory or 'not known'}" for run in runs)
        yield f"memory modes differ ({modes}): these runs cannot be compared"
    if len(groups([(run.record.where,) for run in runs if run.record.where.state])) > 1:
        states = ", ".join(f"{run.path.name} {run.record.where.state or 'not known'}" for run in runs)
        yield f"states of the host differ ({states}): a difference between these runs may be the host's"


def _warnings_of_runs(runs: Sequence[Run], summaries: Sequence[Summary | None]) -> Iterator[str]:
    for run, summary in zip(runs, summaries, strict=True):
        rejected = "metrics rejected" if run.rejected else "no window was measured"
        yield from (
            f"{run.path.name}: {warning}" for warning in (warnings_of(notices(run, summary)) if summary else [])
        )
        yield from (f"{run.path.name}: invalid, {rejected}: {reason}" for reason in run.record.verdict.reasons)
        yield from (f"{run.path.name}: limit relaxed: {limit}" for limit in run.record.relaxed)
        yield from (f"{run.path.name}: {problem}" for problem in run.problems)
