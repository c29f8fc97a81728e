"""The report of a search: the result of each goal, every trial, and latency at parts of the rate, in one HTML file."""

from html import escape
from math import floor, log10
from pathlib import Path
from typing import Any

from windtunnel.format import rate
from windtunnel.measure.throughput.record import SearchRecord
from windtunnel.runs.files import replace
from windtunnel.views.pages.charts import SERIES
from windtunnel.views.pages.layout import duration_ticks, layout_of, log_ticks
from windtunnel.views.pages.page import filled, host_lines, pretty
from windtunnel.views.terminal.search import (
    METHODS,
    allowed_words,
    doubts,
    host_words,
    latency_words,
    load_words,
    width_of,
)

LEAST_LOSS = 1e-5
"""Loss ratio from which the axis begins at the latest."""


def write(record: SearchRecord, directory: Path) -> Path:
    """Writes report.html into the search's directory and returns its path. Raises UserError where it cannot."""
    path = directory / "report.html"
    replace(path, render(record))
    return path


def render(record: SearchRecord) -> str:
    """The page as HTML. What came from users is escaped by the template, and in plots here."""
    charts = {"trials": trials(record)} if record.trials else {}
    if any(row.p50 is not None for row in record.latency):
        charts["latency"] = latency(record)
    return filled(
        "search.html",
        charts,
        record=record,
        method=METHODS[record.method],
        load=load_words,
        width=width_of,
        doubts=doubts(record),
        allowed=allowed_words,
        latency_of=latency_words,
        host_words=host_words(record),
        host=host_lines(record.host),
        facts=pretty(record.host),
        scenario=pretty(record.scenario),
    )


def trials(record: SearchRecord) -> dict[str, Any]:
    """Each trial at its load and the share that it lost; the goals' lower bounds as lines."""
    counted = [trial for trial in record.trials if trial.excluded is None]
    losses = [trial.loss_ratio or 0.0 for trial in counted]
    ticks, zero = _loss_axis(losses)
    data = [
        {
            "type": "scatter",
            "mode": "markers",
            "x": [trial.load for trial in counted],
            "y": [loss or zero for loss in losses],
            "text": [f"{trial.run}: {trial.duration_s:g} s, lost {trial.loss_ratio:.4%}" for trial in counted],
            "hovertemplate": "%{text} at %{x:.4s}/s<extra></extra>",
            "marker": {"size": 8, "color": SERIES[0], "opacity": 0.6},
        }
    ]
    layout = layout_of(340)
    layout["xaxis"] |= {"title": {"text": "load, messages per second"}, "type": "log"}
    layout["xaxis"] |= log_ticks([trial.load for trial in counted], rate) if counted else {}
    layout["yaxis"] |= {"title": {"text": "share lost"}, "type": "log"} | ticks
    layout["shapes"] = [_bound(bound, names) for bound, names in _lower_bounds(record).items()]
    return {"data": data, "layout": layout | {"showlegend": False}}


def _loss_axis(losses: list[float]) -> tuple[dict[str, Any], float]:
    """Ticks of a logarithmic axis at powers of ten, and where on it no loss is: a power below all others, labelled 0."""
    lowest = floor(log10(min([loss for loss in losses if loss] + [LEAST_LOSS])))
    powers = [10.0**power for power in range(lowest, 1)]
    zero = powers[0] / 10
    texts = ["0", *(f"{100 * power:g}%" for power in powers)]
    return {"tickvals": [zero, *powers], "ticktext": texts, "range": [log10(zero) - 0.3, 0.1]}, zero


def _lower_bounds(record: SearchRecord) -> dict[float, list[str]]:
    """Lower bound -> its goals."""
    bounds: dict[float, list[str]] = {}
    for goal in record.goals:
        if goal.relevant_lower_bound:
            bounds.setdefault(goal.relevant_lower_bound, []).append(goal.name)
    return bounds


def _bound(bound: float, names: list[str]) -> dict[str, Any]:
    """A line from bottom to top, with the goals' names."""
    place = {"xref": "x", "yref": "paper", "x0": bound, "x1": bound, "y0": 0, "y1": 1}
    line = {"color": SERIES[1], "width": 2, "dash": "dot"}
    label = {"text": escape(", ".join(names)), "textangle": 0, "textposition": "end", "font": {"size": 11}}
    return {"type": "line", "line": line, "label": label | {"xanchor": "left"}} | place


def latency(record: SearchRecord) -> dict[str, Any]:
    """Percentiles at each part of the rate, a line a percentile."""
    shown = [row for row in record.latency if row.p50 is not None]
    lines = (
        ("p50", [r.p50 for r in shown]),
        ("p90", [r.p90 for r in shown]),
        ("p99", [r.p99 for r in shown]),
        ("p99.9", [r.p999 for r in shown]),
    )
    data = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": name,
            "x": [row.rate for row in shown],
            "y": values,
            "line": {"color": SERIES[n % len(SERIES)], "width": 2},
        }
        for n, (name, values) in enumerate(lines)
    ]
    layout = layout_of(320)
    layout["xaxis"] |= {"title": {"text": "load, messages per second"}, "tickformat": "~s", "rangemode": "tozero"}
    layout["yaxis"] |= {"type": "log"} | duration_ticks([v for _, values in lines for v in values if v])
    return {"data": data, "layout": layout | {"showlegend": True}}
