"""Percentile curves, as HdrHistogram draws them: the further right, the rarer."""

from typing import Any

from windtunnel.engine.histogram import Histogram
from windtunnel.results.charts.layout import SERIES, duration_ticks, layout_of
from windtunnel.runs.histogram import highest_of_bucket

PERCENTILE_TICKS = (0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999)


def percentile_curve(name: str, histogram: Histogram, position: int) -> dict[str, Any]:
    """Each bucket's top against 1/(1-q); the last one, the maximum, at the share of one sample."""
    x: list[float] = []
    y: list[int | None] = []
    below = 0
    for lowest, count in histogram.counts:
        x.append(histogram.total / (histogram.total - below))
        y.append(min(highest_of_bucket(lowest, histogram.bits), histogram.max or lowest))
        below += count
    x.append(float(histogram.total))
    y.append(histogram.max)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": x,
        "y": y,
        "line": {"color": SERIES[position % len(SERIES)], "width": 2, "shape": "hv"},
        "customdata": [100 * (1 - 1 / q) for q in x],
        "hovertemplate": "%{customdata:.6~g}% within %{y:,} ns<extra>" + name + "</extra>",
    }


def percentile_chart(data: list[dict[str, Any]], height: int) -> dict[str, Any] | None:
    """Such curves on one pair of axes, as HdrHistogram draws them; None without any."""
    if not data:
        return None
    rarest = max(max(trace["x"]) for trace in data)
    ticks = [p for p in PERCENTILE_TICKS if 100 / (100 - p) <= rarest]
    layout = layout_of(height)
    layout["xaxis"] |= {
        "type": "log",
        "title": {"text": "percentile"},
        "tickvals": [100 / (100 - p) for p in ticks],
        "ticktext": [f"{p:g}%" for p in ticks],
    }
    layout["yaxis"] |= {"type": "log"} | duration_ticks([y for trace in data for y in trace["y"]])
    return {"data": data, "layout": layout | {"showlegend": len(data) > 1}}
