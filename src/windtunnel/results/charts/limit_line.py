"""A rate that cannot be exceeded, drawn over throughput."""

from dataclasses import dataclass
from typing import Any

from windtunnel.format import rate
from windtunnel.results.charts.layout import axis, label_text
from windtunnel.runs.metrics import measured, ratio, seconds
from windtunnel.runs.reader import Run

FARTHEST = 3
"""Times the highest point. A ceiling above that is labelled and not drawn, because it would flatten the lines."""


@dataclass(frozen=True)
class Limit:
    """Something would be full at `times` the rate of a run, at the port of `side`."""

    side: str
    times: float
    name: str


def limit_line(run: Run, limit: Limit, lines: list[dict[str, Any]], shapes: list[dict[str, Any]]) -> dict[str, Any]:
    """Changes of the layout of a plot of these lines: a dotted line at the limit, if there is room for it, and its label."""
    rate_now, asked = mean_rate(run, limit.side)
    height = rate_now * limit.times
    highest = max((y for line in lines for y in line["y"] if y is not None), default=0)
    words = label_text(f"{limit.name}: {rate(height)}")
    if asked and len(lines) > 1:
        words += " for all lines together"
    if highest == 0 or height > FARTHEST * highest:
        return {"annotations": [_words(f"{words}, above this plot", 1, "paper", "top")]}
    line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": height, "y1": height}
    drawn = line | {"line": {"color": "var(--interrupted)", "width": 2, "dash": "dot"}}
    vertical = axis() | {"tickformat": "~s", "title": {"text": "per second"}, "range": [0, max(height, highest) * 1.12]}
    return {"shapes": [*shapes, drawn], "yaxis": vertical, "annotations": [_words(words, height, "y", "bottom")]}


def mean_rate(run: Run, port: str) -> tuple[float, bool]:
    """What the plot shows: responses per second of all workloads, or packets that this port received per second if nobody asks; and
    whether somebody does."""
    asked = any(window.workloads for windows in run.windows.values() for window in windows)
    total = 0.0
    for engine in run.record.engines:
        windows = measured(run.counted[engine.name])
        responses = sum(w.responses for window in windows for w in window.workloads)
        received = sum(p.rx_packets for window in windows for p in window.ports if p.endpoint == port)
        total += ratio(responses if asked else received, seconds(windows)) or 0.0
    return total, asked


def _words(text: str, y: float, of: str, anchor: str) -> dict[str, Any]:
    place = {"x": 1, "xref": "paper", "xanchor": "right", "y": y, "yref": of, "yanchor": anchor}
    return {"text": text, "showarrow": False, "font": {"color": "var(--interrupted)", "size": 11}} | place
