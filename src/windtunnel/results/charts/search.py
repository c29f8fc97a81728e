"""The plots of a search: every trial at its load, and latency at parts of the rate."""

from collections.abc import Sequence
from math import floor, log10
from typing import Any

from windtunnel.format import rate
from windtunnel.measure.throughput.search_record import LatencyRow, SearchRecord
from windtunnel.results.charts.layout import SERIES, duration_ticks, label_text, layout_of, log_ticks
from windtunnel.runs.registry.percentiles import PERCENTILES

LEAST_LOSS = 1e-5
"""Loss ratio from which the axis begins at the latest."""
MEASURED = tuple(percentile for percentile in PERCENTILES if percentile.field in LatencyRow.model_fields)
"""The percentiles that a search measures at parts of the rate."""


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
    layout["margin"] |= {"t": 26}  # the bounds have their names above the plot
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
    label = {"text": label_text(", ".join(names)), "textangle": 0, "textposition": "end", "font": {"size": 11}}
    return {"type": "line", "line": line, "label": label | {"xanchor": "left"}} | place


def latency(rows: Sequence[LatencyRow]) -> dict[str, Any] | None:
    """Percentiles at each part of the rate, a line a percentile; None if nothing was measured."""
    shown = [row for row in rows if row.p50 is not None]
    if not shown:
        return None
    lines = [(percentile.name, [getattr(row, percentile.field) for row in shown]) for percentile in MEASURED]
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
