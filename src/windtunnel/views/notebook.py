"""Results in a notebook: their tables as plain rows, and the first one as HTML."""

from dataclasses import fields
from functools import singledispatch
from html import escape
from typing import Any

from windtunnel import format as fmt
from windtunnel.errors import UserError
from windtunnel.measure.compare.model import Comparison
from windtunnel.measure.study.study import Study
from windtunnel.measure.throughput.record import SearchRecord
from windtunnel.runs import Run
from windtunnel.runs.summary import rejected_words, summarise

Rows = list[dict[str, Any]]
MOST_ROWS = 20
PLAIN = (str, int, float, bool, type(None))
REJECTED = "rejected"
TIMES = ("p50", "p90", "p99", "p999", "minimum", "maximum", "mean")


@singledispatch
def tables(shown: Any) -> dict[str, Rows]:
    """Name -> rows of a result. Those of a run say in `rejected` whether they are an invalid run's. Raises UserError for a run that
    measured nothing."""
    raise TypeError(f"{type(shown).__name__} is not a result")


@tables.register
def _(run: Run) -> dict[str, Rows]:
    if not run.has_metrics:
        raise UserError(
            f"{run.path}: an invalid run without a measured window", remedy="run.record.verdict.reasons says why"
        )
    summary = summarise(run)
    return {
        name: [_flat(row) | {REJECTED: run.rejected} for row in getattr(summary, name)]
        for name in ("workloads", "stages", "workers", "ports")
    }


@tables.register
def _(study: Study) -> dict[str, Rows]:
    points = [point.model_dump(exclude={"sets", "cpus"}) for point in study.record.points]
    return {"results": study.rows, "points": [point | point.pop("cells") for point in points]}


@tables.register
def _(comparison: Comparison) -> dict[str, Rows]:
    metrics: Rows = []
    verdicts: Rows = []
    for point in comparison.points:
        for measure in point.measures:
            interval = measure.interval
            metrics.append(
                point.factors
                | {
                    "workload": measure.workload,
                    "metric": measure.metric,
                    "a": measure.middles[0],
                    "b": measure.middles[1],
                    "unit": measure.unit,
                    "percent": interval and interval.percent,
                    "low": interval and interval.low,
                    "high": interval and interval.high,
                    "smallest_detectable": interval and interval.smallest,
                    "shown": measure.shown,
                }
            )
        verdicts += [point.factors | {"workload": one.workload, "verdict": one.verdict} for one in point.judged]
    return {"metrics": metrics, "verdicts": verdicts}


@tables.register
def _(search: SearchRecord) -> dict[str, Rows]:
    return {name: [row.model_dump() for row in getattr(search, name)] for name in ("goals", "trials", "latency")}


def html(shown: Any) -> str:
    """Title, a line on the whole, and the first table."""
    title, line = _head(shown)
    head = f"<b>{escape(title)}</b><br>{escape(line)}"
    if not isinstance(shown, Run):
        return f"<div>{head}{_table(next(iter(tables(shown).values())))}</div>"
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in shown.record.verdict.reasons)
    relaxed = "".join(f"<li>limit relaxed: {escape(limit)}</li>" for limit in shown.record.relaxed)
    said = f"<ul>{reasons}{relaxed}</ul>" if reasons or relaxed else ""
    if shown.rejected:
        said += escape(rejected_words(shown))
    return f"<div>{head}{said}{_table(tables(shown)['workloads']) if shown.has_metrics else ''}</div>"


def _head(shown: Any) -> tuple[str, str]:
    if isinstance(shown, Run):
        return shown.record.title, f"{shown.record.verdict_words} run · {shown.path}"
    if isinstance(shown, Study):
        return shown.record.title, f"{shown.finished} of {shown.due} runs, {shown.invalid} invalid · {shown.path}"
    if isinstance(shown, Comparison):
        verdicts = dict.fromkeys(one.verdict for point in shown.points for one in point.judged)
        return f"{shown.a} and {shown.b}", f"B is: {', '.join(verdicts)}"
    return shown.title, f"{len(shown.trials)} trials"


def _table(rows: Rows) -> str:
    """Columns that hold something, in the order of the rows. Values of rejected rows are struck through."""
    columns = [
        name
        for name in dict.fromkeys(name for row in rows for name in row)
        if name != REJECTED and any(row.get(name) not in (None, "", [], {}) for row in rows)
    ]
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(_html(name, row) for name in columns)}</tr>" for row in rows[:MOST_ROWS])
    more = f"<br>{len(rows) - MOST_ROWS} more rows" if len(rows) > MOST_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _html(name: str, row: dict[str, Any]) -> str:
    text = escape(_cell(name, row.get(name)))
    struck = row.get(REJECTED) and not isinstance(row.get(name), str)
    return f"<td><s>{text}</s></td>" if struck else f"<td>{text}</td>"


def _cell(name: str, value: Any) -> str:
    if value is None:
        return fmt.DASH
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int | float):
        if name.rpartition("_")[2] in TIMES:
            return fmt.duration(value)
        if name.endswith("_per_s"):
            return fmt.rate(value)
        if name.endswith("_share"):
            return fmt.percent(value)
        return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
    return str(value)


def _flat(row: Any) -> dict[str, Any]:
    """A row's plain values; those of a part of it under the part's name, as in latency_p99."""
    found: dict[str, Any] = {}
    for field in fields(row):
        value = getattr(row, field.name)
        if isinstance(value, PLAIN):
            found[field.name] = value
        elif hasattr(value, "__dataclass_fields__"):
            found |= {f"{field.name}_{name}": inner for name, inner in _flat(value).items() if isinstance(inner, PLAIN)}
    return found
