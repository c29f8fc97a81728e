"""The plot of handlers' steps: where the time of a packet goes inside a handler."""

from typing import Any

from windtunnel.results.charts.layout import label_text, layout_of
from windtunnel.runs.rows import StepRow

COLOURS = ("var(--work)", "var(--series-2)", "var(--series-3)", "var(--series-4)", "var(--stall)", "var(--idle)")
_BAR_PX = 44


def _pattern(place: int) -> dict[str, Any]:
    """Patterns that distinguish repeated colours."""
    return {"shape": "/", "fillmode": "overlay", "size": 6} if place >= len(COLOURS) else {}


def steps(rows: list[StepRow]) -> dict[str, Any] | None:
    """One stacked bar a stage whose handler names steps: ns of a packet of the stage. A handler's own traffic is not in it."""
    shown = [row for row in rows if row.stage_ns is not None and not row.traffic]
    if not shown:
        return None
    names = list(dict.fromkeys(row.label for row in shown))
    bars = [
        {
            "type": "bar",
            "orientation": "h",
            "name": label_text(name),
            "y": [label_text(f"{row.endpoint}  {row.stage}") for row in shown if row.label == name],
            "x": [row.stage_ns for row in shown if row.label == name],
            "marker": {
                "color": COLOURS[place % len(COLOURS)],
                "pattern": _pattern(place),
                "line": {"color": "var(--card)", "width": 1},
            },
            "hovertemplate": f"{label_text(name)}<br>%{{x:.1f}} ns per packet<extra></extra>",
        }
        for place, name in enumerate(names)
    ]
    layout = layout_of(len({(row.endpoint, row.stage) for row in shown}) * _BAR_PX + 110)
    layout["xaxis"] |= {"title": {"text": "ns per packet"}, "rangemode": "tozero"}
    layout["yaxis"] |= {"autorange": "reversed", "showgrid": False, "ticklabelstandoff": 6}
    return {"data": bars, "layout": layout | {"barmode": "stack", "bargap": 0.35, "showlegend": True}}
