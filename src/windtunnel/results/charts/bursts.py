"""The plot of bursts: small multiples, one a stage."""

from typing import Any

from windtunnel.results.charts.layout import axis, label_text, layout_of
from windtunnel.runs.rows import StageRow

_COLUMNS = 6
_LINE_PX = 180


def bursts(rows: list[StageRow]) -> dict[str, Any] | None:
    """Small multiples: share of a stage's calls by the objects that they took, without empty calls."""
    counted = [row for row in rows if any(size for size in row.burst or ())]
    if not counted:
        return None
    widest = max(max(row.burst or ()) for row in counted)
    by_line: list[list[StageRow]] = []
    for endpoint in dict.fromkeys(row.endpoint for row in counted):
        by_line.append([row for row in counted if row.endpoint == endpoint])
    layout = layout_of(_LINE_PX * len(by_line))
    del layout["xaxis"], layout["yaxis"]
    layout |= {"annotations": [], "bargap": 0.1, "showlegend": False}
    data: list[dict[str, Any]] = []
    for line, stages in enumerate(by_line):
        for column, row in enumerate(stages):
            number = str(len(data) + 1)
            data.append(_burst_bars(row, number))
            left, top = column / _COLUMNS, 1 - line / len(by_line)
            width, height = 0.86 / _COLUMNS, 0.6 / len(by_line)
            crown = top - 0.22 / len(by_line)
            layout[f"xaxis{number}"] = axis() | {
                "anchor": f"y{number}",
                "domain": [left, left + width],
                "range": [0, widest + 1],
                "showgrid": False,
                "nticks": 4,
            }
            layout[f"yaxis{number}"] = axis() | {
                "anchor": f"x{number}",
                "domain": [crown - height, crown],
                "range": [0, 1],
                "tickvals": [0, 0.5, 1],
                "tickformat": ".0%",
                "showticklabels": column == 0,
            }
            layout["annotations"].append(_title(label_text(row.stage), left, crown))
        layout["annotations"].append(_title(f"<b>{label_text(stages[0].endpoint)}</b>", 0, crown, lift=22))
    return {"data": data, "layout": layout}


def _burst_bars(row: StageRow, number: str) -> dict[str, Any]:
    taken = {size: calls for size, calls in (row.burst or {}).items() if size and calls}
    calls = sum(taken.values())
    return {
        "type": "bar",
        "x": list(taken),
        "y": [n / calls for n in taken.values()],
        "xaxis": f"x{number}",
        "yaxis": f"y{number}",
        "marker": {"color": "var(--work)"},
        "hovertemplate": "%{x} objects: %{y:.1%} of calls<extra></extra>",
    }


def _title(text: str, x: float, y: float, lift: int = 6) -> dict[str, Any]:
    font = {"color": "var(--ink)", "size": 12}
    place = {"x": x, "y": y, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom", "yshift": lift}
    return {"text": text, "showarrow": False, "font": font} | place
