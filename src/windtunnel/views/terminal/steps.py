"""Handlers in the terminal: their steps and their counters."""

from collections.abc import Callable, Sequence

from rich.console import RenderableType
from rich.text import Text

from windtunnel import format as fmt
from windtunnel.runs.rows import HandlerCounterRow, StepRow
from windtunnel.views.terminal.columns import Column, Fitting
from windtunnel.views.terminal.metric_columns import columns


def step_table(rows: Sequence[StepRow]) -> RenderableType:
    """Steps by stage: ns per packet of the stage, which add up, and ns per packet that went through the step."""
    places = [f"{row.endpoint} {row.stage}" for row in rows]
    starts = [n for n, place in enumerate(places) if n == 0 or place != places[n - 1]]

    def column(head: str, show: Callable[[StepRow], str | Text], words: bool = False) -> Column:
        return Column(head, [show(row) for row in rows], words=words)

    made = columns("step", rows)
    made["share"] = column("share", lambda r: "separate" if r.traffic else fmt.percent(r.share))
    return Fitting(
        [
            Column("steps of", [place if n in starts else "" for n, place in enumerate(places)], words=True),
            column("step", lambda r: Text(r.label, style="dim" if r.traffic else ""), words=True),
            *made.values(),
        ],
        sections=starts[1:],
    )


def handler_counters(rows: Sequence[HandlerCounterRow]) -> RenderableType:
    """Counters of handlers, by table or handler."""
    heads = [row.of or f"{row.endpoint} {row.stage}" for row in rows]
    starts = [n for n, head in enumerate(heads) if n == 0 or head != heads[n - 1]]
    return Fitting(
        [
            Column("counters", [head if n in starts else "" for n, head in enumerate(heads)], words=True),
            Column("", [row.name for row in rows], words=True),
            Column("value", [_value(row) for row in rows]),
            Column("unit", [row.unit for row in rows], words=True),
            Column("per second", [fmt.rate(row.per_s) if row.per_s is not None else fmt.DASH for row in rows], spare=1),
        ],
        sections=starts[1:],
    )


def _value(row: HandlerCounterRow) -> Text:
    return Text(fmt.count(row.value), style="red" if row.kind == "wrong" and row.value else "")
