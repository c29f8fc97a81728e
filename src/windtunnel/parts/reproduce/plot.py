"""The plot of a document, redrawn: what was measured here, and what the document itself has in numbers, on the same axes."""

from statistics import median
from typing import Any

from windtunnel.parts.reproduce.claim import Claim, Curve
from windtunnel.parts.reproduce.claim_record import DrawnCurve, DrawnPlot, Point
from windtunnel.parts.reproduce.queries import Queries
from windtunnel.results.charts.layout import SERIES, label_text, layout_of, log_ticks

HEIGHT = 340
MOST_POINTS = 1000
"""Of a curve."""


def draw(claim: Claim, queries: Queries) -> DrawnPlot | None:
    """The claim's plot with its points; None if it has no plot. Raises UserError if a query fails, or if a point is no number."""
    if claim.plot is None:
        return None
    curves = [
        DrawnCurve(name=curve.name, published=curve.published, points=_points(curve, queries))
        for curve in claim.plot.curve
    ]
    plot = claim.plot
    return DrawnPlot(x=plot.x, y=plot.y, logarithmic=plot.logarithmic, curves=curves)


def plotly_of(plot: DrawnPlot) -> dict[str, Any] | None:
    """Medians with the least and the greatest repeat; dashed lines are the document's. None if there are no points."""
    shown = [curve for curve in plot.curves if curve.points]
    if not shown:
        return None
    layout = layout_of(HEIGHT) | {"showlegend": True}
    for name, title in (("x", plot.x), ("y", plot.y)):
        axis = layout[f"{name}axis"]
        axis["title"] = {"text": label_text(title)}
        values = [value for curve in shown for point in curve.points if (value := getattr(point, name)) > 0]
        if name in plot.logarithmic and values:
            axis |= {"type": "log"} | log_ticks(values, "{:,.10g}".format)
        else:
            axis["rangemode"] = "tozero"
    return {"data": [_line(curve, place) for place, curve in enumerate(shown)], "layout": layout}


def _points(curve: Curve, queries: Queries) -> list[Point]:
    values: dict[float, list[float]] = {}
    for row in queries.rows(curve.name, curve.sql, ["x", "y"]):
        if row["x"] is not None and row["y"] is not None:
            x, y = queries.numbers(curve.name, row, ["x", "y"])
            values.setdefault(x, []).append(y)
    points = [Point(x=x, y=median(ys), low=min(ys), high=max(ys)) for x, ys in sorted(values.items())]
    return points[:MOST_POINTS]


def _line(curve: DrawnCurve, place: int) -> dict[str, Any]:
    points, colour = curve.points, SERIES[place % len(SERIES)]
    line: dict[str, Any] = {
        "type": "scatter",
        "name": label_text(curve.name),
        "x": [point.x for point in points],
        "y": [point.y for point in points],
        "line": {"color": colour, "width": 2},
        "marker": {"color": colour, "size": 7},
    }
    if curve.published:
        dashed = {"color": colour, "width": 2, "dash": "dash"}
        return line | {"mode": "lines" if len(points) > 1 else "markers", "line": dashed}
    spread = {
        "type": "data",
        "symmetric": False,
        "array": [point.high - point.y for point in points],
        "arrayminus": [point.y - point.low for point in points],
        "color": colour,
        "thickness": 1,
    }
    return line | {"mode": "lines+markers", "error_y": spread}
