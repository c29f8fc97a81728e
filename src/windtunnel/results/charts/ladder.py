"""The plot of a ladder, as plain JSON for plotly."""

from collections.abc import Sequence
from math import log, log10
from typing import Any

from windtunnel.format import size
from windtunnel.host.ladder import Ladder
from windtunnel.results.charts.layout import SERIES, layout_of, log_ticks
from windtunnel.scenario.quantities import write as write_quantity

_EDGE = 0.1
"""Of the axis: labels there would leave the plot."""


def latency_over_size(ladder: Ladder) -> dict[str, Any]:
    """ns of a load over bytes, the least round and the worst; measured ends of levels solid, reported sizes dotted. Their sizes stand above
    the plot, each kind in a row of its own."""
    sizes = [rung.bytes for rung in ladder.rungs]
    least = [rung.ns for rung in ladder.rungs]
    most = [rung.most_ns for rung in ladder.rungs]
    texts = [
        f"{size(b)}: {ns:.2f} ns, {worst:.2f} in the slowest round"
        for b, ns, worst in zip(sizes, least, most, strict=True)
    ]
    data = [
        _trace("fastest round", sizes, least, texts, _stroke(SERIES[0])),
        _trace("slowest round", sizes, most, texts, _stroke(SERIES[0], "dot", 1)),
        _trace("measured end of a level", [None], [None], [], _stroke(SERIES[1])),
        _trace("reported by the kernel", [None], [None], [], _stroke(SERIES[2], "dot")),
    ]
    layout = layout_of(460)
    layout["margin"] |= {"t": 44}
    layout["legend"] |= {"y": -0.2, "yanchor": "top"}
    layout["xaxis"] |= {"title": {"text": "memory size"}, "type": "log", "range": [log10(sizes[0]), log10(sizes[-1])]}
    layout["xaxis"] |= _size_ticks(sizes[-1])
    layout["yaxis"] |= {"title": {"text": "ns per load"}, "type": "log"} | log_ticks([*least, *most], "{:g}".format)
    within = [cache for cache in ladder.reported if cache.bytes <= sizes[-1]]
    layout["shapes"] = [
        *(_line_at(step, _stroke(SERIES[1])) for step in ladder.steps()),
        *(_line_at(cache.bytes, _stroke(SERIES[2], "dot")) for cache in within),
    ]
    layout["annotations"] = [
        *(_above(step, size(step), SERIES[1], 18, sizes) for step in ladder.steps()),
        *(_above(cache.bytes, f"L{cache.level} {size(cache.bytes)}", SERIES[2], 2, sizes) for cache in ladder.reported),
    ]
    return {"data": data, "layout": layout | {"showlegend": True}}


def _size_ticks(most: int) -> dict[str, Any]:
    """A line at every fourfold size, and a label at every second of them."""
    ticks = [4096 << (2 * n) for n in range(15) if 4096 << (2 * n) <= most]
    texts = ["" if n % 2 else write_quantity("size", tick) for n, tick in enumerate(ticks)]
    return {"tickvals": ticks, "ticktext": texts}


def _stroke(colour: str, dash: str = "solid", width: int = 2) -> dict[str, Any]:
    return {"color": colour, "width": width, "dash": dash}


def _trace(
    name: str, x: Sequence[int | None], y: Sequence[float | None], words: list[str], line: dict[str, Any]
) -> dict[str, Any]:
    hover = {"text": words, "hovertemplate": "%{text}<extra></extra>"}
    return {"type": "scatter", "mode": "lines", "name": name, "x": x, "y": y, "line": line} | hover


def _line_at(x: int, line: dict[str, Any]) -> dict[str, Any]:
    """From bottom to top."""
    return {"type": "line", "line": line, "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1}


def _above(x: int, words: str, colour: str, up: int, sizes: list[int]) -> dict[str, Any]:
    """A label above the plot, within it from left to right; of a size beyond the plot it says so by an arrow."""
    share = log(x / sizes[0]) / log(sizes[-1] / sizes[0])
    anchor = "left" if share < _EDGE else "right" if share > 1 - _EDGE else "center"
    place = {"xref": "paper", "x": min(share, 1), "xanchor": anchor}
    place |= {"yref": "paper", "y": 1, "yanchor": "bottom", "yshift": up}
    text = {"text": f"{words} →" if share > 1 else words, "font": {"size": 11, "color": colour}}
    return {"showarrow": False} | text | place
