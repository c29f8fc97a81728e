"""The columns of a terminal's tables, from the registry of metrics."""

from collections.abc import Callable, Sequence
from typing import Any

from rich.text import Text

from windtunnel import format as fmt
from windtunnel.runs.registry import Metric, Noun, metrics
from windtunnel.views.metric_cells import written
from windtunnel.views.terminal.columns import Column

_STYLES = {"waits": "yellow", "loss": "red", "plain": ""}


def cell(of: Metric, row: Any) -> Text:
    """The same in a terminal: narrow, and coloured if it is a loss or a wait."""
    text = written(of, row)
    if of.form == "duration":
        text = text.replace(" ", "")
    return Text(text, style=_STYLES[of.tone] if of.shown(row) else "")


def columns(noun: Noun, rows: Sequence[Any], within: Callable[[Any], Any] = lambda row: row) -> dict[str, Column]:
    """The columns of a terminal's table, by the names of their metrics. `within`: the part of a row that has them; None there is a
    dash."""

    def shown(of: Metric, row: Any) -> str | Text:
        part = within(row)
        return fmt.DASH if part is None else cell(of, part)

    return {
        of.name: Column(of.terminal.head, [shown(of, row) for row in rows], of.terminal.spare, of.terminal.width)
        for of in metrics(noun)
        if of.terminal
    }
