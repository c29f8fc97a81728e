"""Columns of tables from the registry of metrics: each metric is written in one way, wherever it is shown."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from windtunnel import format as fmt
from windtunnel.results.document import Cell, Column, Marked
from windtunnel.runs.registry import Metric, Noun, metrics
from windtunnel.runs.registry.metric import Form

_WRITTEN: dict[Form, Callable[[Any], str]] = {
    "count": fmt.count,
    "number": fmt.number,
    "mpps": lambda value: fmt.number(value, 3),
    "gbps": lambda value: fmt.number(value, 3),
    "percent": fmt.percent,
    "duration": fmt.duration,
    "rate": fmt.rate,
}


def value_text(form: Form, value: Any) -> str:
    """A value with its unit, if its form has one."""
    return _WRITTEN[form](value)


def compared_text(unit: Literal["/s", "ns"], value: float | None) -> str:
    """A value of a metric that runs are compared by."""
    if unit == "/s" or value is None:
        return fmt.rate(value)
    return fmt.duration(value) if value >= 100 else f"{value:.1f} ns"


def metric_text(metric: Metric, row: Any) -> str:
    """What a table shows of this row."""
    return value_text(metric.form, metric.shown(row))


def metric_cell(metric: Metric, row: Any) -> Cell:
    """The same as a cell, with a tone if it is a loss or a wait."""
    text = metric_text(metric, row)
    return Marked(text, metric.tone) if metric.tone != "plain" and metric.shown(row) else text


def metric_columns(
    noun: Noun, rows: Sequence[Any], within: Callable[[Any], Any] = lambda row: row
) -> dict[str, Column]:
    """The columns of a table of these rows, by the names of their metrics. `within`: the part of a row that has them; None there is a dash.
    Metrics of open loops have a column if a row is of one."""

    def cell(metric: Metric, row: Any) -> Cell:
        part = within(row)
        return fmt.DASH if part is None else metric_cell(metric, part)

    open_loop = any(getattr(within(row), "pacing", None) for row in rows)
    return {
        metric.name: Column(
            metric.table.head, [cell(metric, row) for row in rows], metric.table.spare, metric.table.width
        )
        for metric in metrics(noun)
        if metric.table and (open_loop or not metric.open_loop)
    }
