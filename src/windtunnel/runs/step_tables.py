"""What handlers did, in the terminal: their steps, and the figures that they count themselves."""

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from windtunnel.runs import format as fmt
from windtunnel.runs.columns import Column, Fitting
from windtunnel.runs.rows import FigureRow, StepRow


def step_table(rows: Sequence[StepRow]) -> RenderableType:
    """Steps by stage: ns of a packet of the stage, which add up, and of those packets alone that went through the step."""
    places = [f"{row.endpoint} {row.stage}" for row in rows]
    starts = [n for n, place in enumerate(places) if n == 0 or place != places[n - 1]]

    def column(head, show, **layout) -> Column:
        return Column(head, [show(row) for row in rows], **layout)

    return Fitting(
        [
            Column("steps of", [place if n in starts else "" for n, place in enumerate(places)], words=True),
            column("step", lambda r: Text(r.step, style="dim" if r.traffic else ""), words=True),
            column("ns/packet", lambda r: fmt.number(r.stage_ns), width=6),
            column("share", lambda r: "apart" if r.traffic else fmt.percent(r.share)),
            column("through it", lambda r: fmt.percent(r.packets_share), spare=2),
            column("ns of these", lambda r: fmt.number(r.ns), spare=3),
            column("reading the clock", lambda r: fmt.number(r.stamp_ns), spare=1),
        ],
        sections=starts[1:],
    )


def handler_figures(rows: Sequence[FigureRow]) -> RenderableType:
    """What handlers counted, by what it belongs to."""
    heads = [row.of or f"{row.endpoint} {row.stage}" for row in rows]
    starts = [n for n, head in enumerate(heads) if n == 0 or head != heads[n - 1]]
    return Fitting(
        [
            Column("counted of", [head if n in starts else "" for n, head in enumerate(heads)], words=True),
            Column("", [row.name for row in rows], words=True),
            Column("value", [_value(row) for row in rows]),
            Column("unit", [row.unit for row in rows], words=True),
            Column("a second", [fmt.rate(row.per_s) if row.per_s is not None else fmt.DASH for row in rows], spare=1),
        ],
        sections=starts[1:],
    )


def _value(row: FigureRow) -> Text:
    return Text(fmt.count(row.value), style="red" if row.kind == "wrong" and row.value else "")
