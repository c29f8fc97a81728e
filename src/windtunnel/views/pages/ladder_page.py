"""The page of a ladder: latency over size, its levels, and the caches that the kernel reports."""

from pathlib import Path
from typing import Any

from windtunnel.format import size
from windtunnel.host.ladder import Ladder
from windtunnel.runs.files import replace
from windtunnel.views.pages.charts import SERIES
from windtunnel.views.pages.layout import layout_of
from windtunnel.views.pages.page import filled, host_lines, pretty
from windtunnel.views.terminal.ladder import notes


def write(ladder: Ladder, path: Path) -> Path:
    """Writes the page and returns its path. Raises UserError where it cannot."""
    replace(path, render(ladder))
    return path


def render(ladder: Ladder) -> str:
    """The page as HTML."""
    return filled(
        "ladder.html",
        {"ladder": chart(ladder)},
        ladder=ladder,
        notes=notes(ladder),
        host=host_lines(ladder.host),
        facts=pretty(ladder.host),
    )


def chart(ladder: Ladder) -> dict[str, Any]:
    """ns of a load over bytes, the least round and the worst; measured ends of levels solid, reported sizes dotted."""
    sizes = [rung.bytes for rung in ladder.rungs]
    least = [rung.ns for rung in ladder.rungs]
    most = [rung.most_ns for rung in ladder.rungs]
    line = {"color": SERIES[0], "width": 2}
    faint = {"color": SERIES[0], "width": 1, "dash": "dot"}
    words = [
        f"{size(b)}: {ns:.2f} ns, {worst:.2f} in the slowest round"
        for b, ns, worst in zip(sizes, least, most, strict=True)
    ]
    data = [
        _trace("fastest round", sizes, least, words, line),
        _trace("slowest round", sizes, most, words, faint),
    ]
    layout = layout_of(420)
    ticks = [4096 << (2 * n) for n in range(15) if 4096 << (2 * n) <= sizes[-1]]
    layout["xaxis"] |= {"title": {"text": "memory size"}, "type": "log"}
    layout["xaxis"] |= {"tickvals": ticks, "ticktext": [size(tick) for tick in ticks]}
    layout["yaxis"] |= {"title": {"text": "ns a load"}, "type": "log"}
    layout["shapes"] = [
        *(_at(step, f"measured {size(step)}", SERIES[1], "solid", "start") for step in ladder.steps()),
        *(
            _at(cache.bytes, f"lscpu L{cache.level} {size(cache.bytes)}", SERIES[2], "dot", "middle")
            for cache in ladder.reported
            if cache.bytes <= sizes[-1]
        ),
    ]
    return {"data": data, "layout": layout | {"showlegend": True}}


def _trace(name: str, x: list[int], y: list[float], words: list[str], line: dict[str, Any]) -> dict[str, Any]:
    hover = {"text": words, "hovertemplate": "%{text}<extra></extra>"}
    return {"type": "scatter", "mode": "lines", "name": name, "x": x, "y": y, "line": line} | hover


def _at(x: int, words: str, colour: str, dash: str, where: str) -> dict[str, Any]:
    """A line from bottom to top with its words."""
    label = {"text": words, "textangle": 0, "textposition": where, "xanchor": "left", "font": {"size": 11}}
    place = {"xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1}
    return {"type": "line", "line": {"color": colour, "width": 2, "dash": dash}, "label": label} | place
