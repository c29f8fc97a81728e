"""Histories as a document: the change points of each scenario, host and state, and why nothing can be told of others."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from windtunnel import format as fmt
from windtunnel.host import states
from windtunnel.measure.history.history_record import ChangePoint, Histories, History, InState, Kind, Metric
from windtunnel.measure.history.verdict_sentences import (
    left_out_text,
    metric_name,
    no_change_sentence,
    run_name,
    state_name,
    verdict_sentences,
)
from windtunnel.results.document import Cell, Document, Marked, Section, Sentence, Table, Tone, columns_of
from windtunnel.results.metric_columns import compared_text

TONES: Mapping[Kind, Tone] = {"regression": "bad", "improvement": "good"}
MOST_SHORT = 20
"""Histories with too few runs that have a line each."""


def histories_document(histories: Histories, asked: Collection[str] = ()) -> Document:
    """A table for each scenario, host and state of which something can be told, then a line for each of the others. `asked`: metrics that
    are shown without a change point, too."""
    order = f"by the label {histories.by}" if histories.by else "by time"
    judged = [
        _state(history, in_state, asked)
        for history in histories.histories
        for in_state in history.states
        if is_judged(in_state)
    ]
    short = [Sentence(line, tone="warning") for line in _short(histories)]
    return Document(
        kind="history",
        title="History of runs",
        at=histories.made,
        how=[f"runs {order}", "likelihood ratio under AR(1) noise", f"intervals of {1 - histories.level:.0%}"],
        blocks=[*judged, *([Section("Not judged", short)] if short else [])],
    )


def verdict_lines(histories: Histories, asked: Collection[str] = ()) -> list[str]:
    """A line for each metric that decides, that was asked for, or that has changed."""
    return [
        f"{state_name(history, in_state)}: {verdict}"
        for history in histories.histories
        for in_state in history.states
        if is_judged(in_state)
        for metric in in_state.metrics
        if _is_shown(metric, asked)
        for verdict in verdict_sentences(in_state, metric)
    ] + _short(histories)


def is_judged(in_state: InState) -> bool:
    """Whether anything is known of a metric that decides."""
    return any(metric.decides and not metric.unjudged for metric in in_state.metrics)


def _state(history: History, in_state: InState, asked: Collection[str]) -> Section:
    first, last = in_state.runs[0], in_state.runs[-1]
    on = f" on {states.words(in_state.state)}" if in_state.state else ""
    about = f"{len(in_state.runs)} runs{on}, {run_name(first)} to {run_name(last)}{_left_out(history)}"
    shown = [metric for metric in in_state.metrics if _is_shown(metric, asked)]
    others = len(in_state.metrics) - len(shown)
    return Section(
        f"{history.title} on {history.host}",
        [
            Sentence(about),
            _table(in_state, shown),
            *([Sentence(f"{others} other metrics: no change point shown", tone="quiet")] if others else []),
        ],
        terminal="titled",
    )


def _left_out(history: History) -> str:
    runs = left_out_text(history)
    return f"; left out: {runs}" if runs else ""


def _is_shown(metric: Metric, asked: Collection[str]) -> bool:
    return metric.decides or metric.metric in asked or bool(metric.changes)


def _table(in_state: InState, metrics: Sequence[Metric]) -> Table:
    """A row for each change point; a metric without one has a row, too."""
    rows: list[tuple[Metric, ChangePoint | None]] = [
        (metric, change) for metric in metrics for change in (*metric.changes, *([] if metric.changes else [None]))
    ]
    column = columns_of(rows)
    return Table(
        [
            column("metric", lambda row: Marked(metric_name(row[0]), strong=row[0].decides), words=True),
            column("now", lambda row: _now(row[0])),
            column("another day", lambda row: _another_day(row[0]), spare=3),
            column("change", lambda row: f"{row[1].percent:+.1f}%" if row[1] else fmt.DASH),
            column("99% interval", lambda row: f"{row[1].low:+.1f}% .. {row[1].high:+.1f}%" if row[1] else fmt.DASH),
            column("runs since", lambda row: str(len(in_state.runs) - row[1].run) if row[1] else fmt.DASH, spare=2),
            column("detectable", lambda row: f"{row[0].detectable:.1f}%" if row[0].detectable else fmt.DASH, spare=1),
            column("verdict", lambda row: _verdict(in_state, *row), words=True),
        ]
    )


def _now(metric: Metric) -> str:
    return compared_text(metric.unit, metric.levels[-1].median) if metric.levels else fmt.DASH


def _another_day(metric: Metric) -> str:
    """Where a run on another day lies with a chance of 95%."""
    day = metric.another_day
    return f"{compared_text(metric.unit, day.low)} .. {compared_text(metric.unit, day.high)}" if day else fmt.DASH


def _verdict(in_state: InState, metric: Metric, change: ChangePoint | None) -> Cell:
    if change is None:
        sentence = no_change_sentence(metric)
        return Marked(sentence, "warning") if metric.absent or metric.unjudged else "no change point"
    kind = change.kind if change.persists else f"{change.kind}, over"
    changed = f": {'; '.join(change.changed)}" if change.changed else ""
    return Sentence(Marked(kind, TONES[change.kind]), f" with {run_name(in_state.runs[change.run])}{changed}")


def _short(histories: Histories) -> list[str]:
    """Why nothing can be told, of each state and scenario of which that is so."""
    lines = list(_not_judged(histories))
    more = len(lines) - MOST_SHORT
    return [*lines[:MOST_SHORT], *([f"and {more} others"] if more > 0 else [])]


def _not_judged(histories: Histories) -> Iterator[str]:
    for history in histories.histories:
        if not history.states:
            yield f"{history.title}: cannot tell: no valid run{_left_out(history)}"
        for in_state in history.states:
            if not is_judged(in_state):
                why = next((m.unjudged for m in in_state.metrics if m.decides and m.unjudged), "not measured")
                yield f"{state_name(history, in_state)}: cannot tell: {why}"
