"""Common parts of the figures' plots: medians over the blocks with their range, and lines for limits."""

from collections.abc import Callable, Sequence
from typing import Any

from pvcc.trials import spread, values
from windtunnel.api.documents import SERIES, duration_ticks, layout_of, ticks_at

DASHES = ("solid", "dot", "dash", "longdash")


def series(
    name: str, rows: Sequence[Any], chosen: Callable[[Any], bool], x: str, y: str, position: int, dash: str = "solid"
) -> dict[str, Any]:
    """A line through the medians of included trials over the blocks, by the values of `x`."""
    of = [row for row in rows if chosen(row)]
    points = []
    for at in sorted({getattr(row, x) for row in of}):
        there = [row for row in of if getattr(row, x) == at]
        extent = spread(values(there, lambda r: True, lambda r: getattr(r, y)))
        if extent:
            points.append((at, *extent))
    return line(name, points, position, dash)


def line(
    name: str, points: Sequence[tuple[float, float, float, float]], position: int, dash: str = "solid"
) -> dict[str, Any]:
    """Points of x, median, least and greatest."""
    colour = SERIES[position % len(SERIES)]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": [x for x, _, _, _ in points],
        "y": [middle for _, middle, _, _ in points],
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [most - middle for _, middle, _, most in points],
            "arrayminus": [middle - least for _, middle, least, _ in points],
            "color": colour,
            "thickness": 1,
            "width": 3,
        },
        "line": {"color": colour, "width": 2, "dash": dash},
        "marker": {"size": 6, "color": colour},
    }


def trace(name: str, x: Sequence[float], y: Sequence[float | None], position: int) -> dict[str, Any]:
    """A plain line over time."""
    plain = {"type": "scatter", "mode": "lines", "name": name, "x": list(x), "y": list(y)}
    return plain | {"line": {"color": SERIES[position % len(SERIES)], "width": 2}}


def chart(
    lines: Sequence[dict[str, Any]],
    x: str,
    y: str,
    *,
    log_x: bool = False,
    log_y: bool = False,
    durations: bool = False,
    height: int = 360,
    limits: Sequence[tuple[float, str]] = (),
) -> dict[str, Any]:
    """`durations`: y is in ns. `limits`: values of y with a label, drawn as horizontal lines."""
    drawn = [trace for trace in lines if trace["x"]]
    layout = layout_of(height)
    layout["xaxis"] |= {"title": {"text": x}, "showgrid": False} | (
        {"type": "log"} if log_x else {"rangemode": "tozero"}
    )
    layout["yaxis"] |= {"title": {"text": y}} | ({"type": "log"} if log_y else {"rangemode": "tozero"})
    at = sorted({value for trace in drawn for value in trace["x"]})
    if log_x:
        layout["xaxis"] |= ticks_at(at, [f"{value:g}" for value in at], log=True) if at else {}
    else:
        layout["xaxis"] |= {"tickformat": "~s"}
    shown = [value for trace in drawn for value in trace["y"] if value] + [value for value, _ in limits]
    if durations and shown:
        layout["yaxis"] |= duration_ticks([round(value) for value in shown])
    elif not durations:
        layout["yaxis"] |= {"tickformat": "~s"} | ({"dtick": 1} if log_y else {})
    return {
        "data": drawn,
        "layout": layout
        | {
            "showlegend": True,
            "shapes": [_across(v) for v, _ in limits],
            "annotations": [_word(v, w, log_y) for v, w in limits],
        },
    }


def _across(value: float) -> dict[str, Any]:
    place = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": "y", "y0": value, "y1": value, "layer": "below"}
    return place | {"line": {"color": "var(--interrupted)", "width": 1, "dash": "dot"}}


def _word(value: float, words: str, log: bool) -> dict[str, Any]:
    from math import log10

    place = {
        "xref": "paper",
        "x": 1,
        "xanchor": "right",
        "yref": "y",
        "y": log10(value) if log else value,
        "yanchor": "bottom",
    }
    return place | {"text": words, "showarrow": False, "font": {"color": "var(--interrupted)", "size": 11}}
