"""Histories in the terminal."""

from collections.abc import Collection, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from windtunnel import format as fmt
from windtunnel.host import states
from windtunnel.measure.history.model import ChangePoint, Histories, History, InState, Metric
from windtunnel.measure.history.words import left_out, metric_name, run_name, state_name, verdict_words
from windtunnel.views.terminal.columns import Column, Fitting

COLOURS = {"regression": "red", "improvement": "green"}
MOST_SHORT = 20
"""Histories with too few runs that have a line each."""


def histories_view(found: Histories, asked: Collection[str] = ()) -> RenderableType:
    """A table for each scenario, host and state of which something can be told, then a line for each of the others. `asked`: metrics that
    are shown without a change point, too."""
    states_of = [(history, in_state) for history in found.histories for in_state in history.states]
    judged = [each for each in states_of if is_judged(each[1])]
    parts: list[RenderableType] = [Text(how(found), style="dim")]
    for history, in_state in judged:
        parts += [Text(), *_state(history, in_state, asked)]
    short = [Text(line, style="yellow") for line in _short(found)]
    return Group(*parts, *([Text(), *short] if short else []))


def verdict_lines(found: Histories, asked: Collection[str] = ()) -> list[str]:
    """Of each metric that decides, that was asked for, or that has changed."""
    return [
        f"{state_name(history, in_state)}: {words}"
        for history in found.histories
        for in_state in history.states
        if is_judged(in_state)
        for metric in in_state.metrics
        if _is_shown(metric, asked)
        for words in verdict_words(in_state, metric)
    ] + _short(found)


def is_judged(in_state: InState) -> bool:
    """Whether anything is known of a metric that decides."""
    return any(metric.decides and not metric.unjudged for metric in in_state.metrics)


def how(found: Histories) -> str:
    order = f"by the label {found.by}" if found.by else "by time"
    return f"runs {order} · likelihood ratio under AR(1) noise · intervals of {1 - found.level:.0%}"


def value_text(metric: Metric, value: float) -> str:
    if metric.unit == "/s":
        return fmt.rate(value)
    return fmt.duration(value) if value >= 100 else f"{value:.1f} ns"


def _state(history: History, in_state: InState, asked: Collection[str]) -> list[RenderableType]:
    first, last = in_state.runs[0], in_state.runs[-1]
    where = f" on {states.words(in_state.state)}" if in_state.state else ""
    about = f"{len(in_state.runs)} runs{where}, {run_name(first)} to {run_name(last)}{_left_out(history)}"
    shown = [metric for metric in in_state.metrics if _is_shown(metric, asked)]
    quiet = len(in_state.metrics) - len(shown)
    others = [Text(f"{quiet} other metrics: no change point shown", style="dim")] if quiet else []
    return [
        Text.assemble((history.title, "bold"), f"  {history.host}"),
        Text(about),
        Text(),
        _table(in_state, shown),
        *others,
    ]


def _left_out(history: History) -> str:
    said = left_out(history)
    return f"; left out: {said}" if said else ""


def _is_shown(metric: Metric, asked: Collection[str]) -> bool:
    return metric.decides or metric.metric in asked or bool(metric.changes)


def _table(in_state: InState, shown: Sequence[Metric]) -> RenderableType:
    rows: list[tuple[Metric, ChangePoint | None]] = [
        (metric, change) for metric in shown for change in (*metric.changes, *([] if metric.changes else [None]))
    ]
    return Fitting(
        [
            Column("metric", [Text(metric_name(m), "bold" if m.decides else "") for m, _ in rows], words=True),
            Column("now", [value_text(m, m.levels[-1].median) if m.levels else fmt.DASH for m, _ in rows]),
            Column("another day", [_another_day(m) for m, _ in rows], spare=3),
            Column("change", [f"{c.percent:+.1f}%" if c else fmt.DASH for _, c in rows]),
            Column(
                "99% interval",
                [f"{c.low:+.1f}% .. {c.high:+.1f}%" if c else fmt.DASH for _, c in rows],
            ),
            Column("runs since", [str(len(in_state.runs) - c.run) if c else fmt.DASH for _, c in rows], spare=2),
            Column("detectable", [f"{m.detectable:.1f}%" if m.detectable else fmt.DASH for m, _ in rows], spare=1),
            Column("verdict", [_verdict(in_state, m, c) for m, c in rows], words=True),
        ]
    )


def _another_day(metric: Metric) -> str:
    """Where a run on another day lies with a chance of 95%."""
    day = metric.another_day
    return f"{value_text(metric, day.low)} .. {value_text(metric, day.high)}" if day else fmt.DASH


def _verdict(in_state: InState, metric: Metric, change: ChangePoint | None) -> Text:
    if change is None:
        return Text(f"cannot tell: {metric.unjudged}", "yellow") if metric.unjudged else Text("no change point")
    word = change.kind if change.persists else f"{change.kind}, over"
    text = Text.assemble((word, COLOURS[change.kind]), f" with {run_name(in_state.runs[change.run])}")
    return text.append(f": {'; '.join(change.changed)}") if change.changed else text


def _short(found: Histories) -> list[str]:
    """Why nothing can be told, of each state and scenario of which that is so."""
    lines = []
    for history in found.histories:
        if not history.states:
            lines.append(f"{history.title}: cannot tell: no valid run{_left_out(history)}")
        for in_state in history.states:
            if not is_judged(in_state):
                why = next((m.unjudged for m in in_state.metrics if m.decides and m.unjudged), "not measured")
                lines.append(f"{state_name(history, in_state)}: cannot tell: {why}")
    more = len(lines) - MOST_SHORT
    return [*lines[:MOST_SHORT], *([f"and {more} others"] if more > 0 else [])]
