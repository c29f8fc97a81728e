"""The plots of a comparison: a forest of differences, and the runs in the order of time."""

from typing import Any

from windtunnel.measure.compare.comparison_record import Measure, Point
from windtunnel.measure.compare.conditions import fall
from windtunnel.results.charts.layout import label_text, layout_of

_ROW_PX = 26
_SIDES = {"a": ("A", "var(--stall)"), "b": ("B", "var(--work)")}
SHOWN, NOT_SHOWN = "var(--work)", "var(--muted)"


def forest(point: Point) -> dict[str, Any] | None:
    """A line for each metric: the difference and its interval in percent of A, and as a band what could have been detected."""
    rows = [measure for measure in point.measures if measure.interval]
    if not rows:
        return None
    names = [label_text(_name(row)) for row in rows]
    intervals = [row.interval for row in rows if row.interval]
    band = {
        "type": "bar",
        "orientation": "h",
        "name": "below the smallest detectable difference",
        "y": names,
        "base": [-fall(interval.smallest) for interval in intervals],
        "x": [interval.smallest + fall(interval.smallest) for interval in intervals],
        "marker": {"color": "var(--shade)", "line": {"width": 0}},
        "hovertemplate": "%{y}<br>up to %{customdata:.2f}% is the smallest detectable difference<extra></extra>",
        "customdata": [interval.smallest for interval in intervals],
    }
    points = {
        "type": "scatter",
        "mode": "markers",
        "name": "B against A",
        "y": names,
        "x": [interval.percent for interval in intervals],
        "marker": {"size": 8, "color": [SHOWN if row.shown else NOT_SHOWN for row in rows]},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [interval.high - interval.percent for interval in intervals],
            "arrayminus": [interval.percent - interval.low for interval in intervals],
            "thickness": 1.5,
            "width": 4,
            "color": "var(--muted)",
        },
        "customdata": [
            [interval.low, interval.high, direction(row)] for row, interval in zip(rows, intervals, strict=True)
        ],
        "hovertemplate": "%{y}<br>%{x:+.2f}% [%{customdata[0]:+.2f} .. %{customdata[1]:+.2f}]<br>%{customdata[2]}<extra></extra>",
    }
    layout = layout_of(len(rows) * _ROW_PX + 90)
    layout["xaxis"] |= {
        "title": {"text": "difference, % of A"},
        "zeroline": True,
        "zerolinecolor": "var(--ink)",
        "ticksuffix": "%",
    }
    layout["yaxis"] |= {"autorange": "reversed", "showgrid": False, "ticklabelstandoff": 6}
    return {"data": [band, points], "layout": layout | {"bargap": 0.2, "showlegend": True}}


def in_time(point: Point) -> dict[str, Any] | None:
    """The deciding metric of each run of both sides in the order in which they ran."""
    measure = next((measure for measure in point.measures if decides(measure, point)), None)
    if measure is None:
        return None
    traces = []
    for side, (label, colour) in _SIDES.items():
        of = getattr(measure, side)
        placed = [(number, run.place) for number, run in enumerate(point.runs, 1) if run.side == side]
        values = {number: of[place] for number, place in placed if place is not None}
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": label,
                "x": list(values),
                "y": list(values.values()),
                "line": {"color": colour, "width": 1, "dash": "dot"},
                "marker": {"size": 7, "color": colour},
                "hovertemplate": f"{label}, run %{{x}}: %{{y:.5s}}<extra></extra>",
            }
        )
    layout = layout_of(280)
    layout["xaxis"] |= {"title": {"text": "runs in the order of their start"}, "showgrid": False}
    layout["yaxis"] |= {"title": {"text": label_text(f"{_name(measure)}, {measure.unit}")}, "tickformat": "~s"}
    return {"data": traces, "layout": layout | {"showlegend": True}}


def decides(measure: Measure, point: Point) -> bool:
    """Whether a verdict on the point is by this metric."""
    return any((judged.workload, judged.decided_by) == (measure.workload, measure.metric) for judged in point.judged)


def direction(measure: Measure) -> str:
    """The verdict on a metric in a word; empty without a difference."""
    if measure.interval is None:
        return measure.unmeasured or ""
    if not measure.shown:
        return ""
    return "higher" if measure.interval.percent > 0 else "lower"


def _name(measure: Measure) -> str:
    return f"{measure.workload} {measure.metric}" if measure.workload else measure.metric
