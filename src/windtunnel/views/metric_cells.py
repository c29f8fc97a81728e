"""Values of metrics as people read them, by the form that the registry gives each; the terminal's tables and the pages share it."""

from collections.abc import Callable, Sequence
from typing import Any

from windtunnel import format as fmt
from windtunnel.runs.registry import Metric, Noun, metrics
from windtunnel.runs.registry.metric import Form

WRITTEN: dict[Form, Callable[[Any], str]] = {
    "count": fmt.count,
    "number": fmt.number,
    "mpps": lambda value: fmt.number(value, 3),
    "gbps": lambda value: fmt.number(value, 3),
    "percent": fmt.percent,
    "duration": fmt.duration,
    "rate": fmt.rate,
}


def written(of: Metric, row: Any) -> str:
    """What a table shows of this row."""
    return WRITTEN[of.form](of.shown(row))


def reported(noun: Noun, rows: Sequence[Any]) -> list[Metric]:
    """The metrics of a report's table; those of open loops where there is one."""
    found = [of for of in metrics(noun) if of.report]
    return [of for of in found if not of.open_loop or any(row.pacing for row in rows)]
