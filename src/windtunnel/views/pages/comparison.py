"""The report of a comparison: verdicts, a forest plot, the runs in the order of time."""

from html import escape
from typing import Any

from windtunnel.measure.compare.model import Comparison, Measure, Point
from windtunnel.measure.compare.options import fall
from windtunnel.views.pages.layout import layout_of
from windtunnel.views.pages.page import filled
from windtunnel.views.terminal.comparison import (
    changed,
    how,
    middle_text,
    name_of,
    percent,
    state_words,
    verdict_word,
    verdicts,
    worth_a_row,
)

_ROW_PX = 26
_SIDES = {"a": ("A", "var(--stall)"), "b": ("B", "var(--work)")}
SHOWN, NOT_SHOWN = "var(--work)", "var(--muted)"


def render(comparison: Comparison) -> str:
    """The page as HTML. What came from a user is escaped by the template, and in plots here."""
    charts = {
        name: chart
        for n, point in enumerate(comparison.points)
        for name, chart in ((f"forest-{n}", forest(point)), (f"runs-{n}", in_time(point)))
        if chart
    }
    return filled(
        "comparison.html",
        charts,
        comparison=comparison,
        headline=headline(comparison),
        how=how(comparison),
        middle_text=middle_text,
        state_words=state_words,
        percent=percent,
        verdict_word=verdict_word,
        name_of=name_of,
        changed=changed,
        worth_a_row=worth_a_row,
        verdicts=verdicts,
    )


def headline(comparison: Comparison) -> str:
    """The one verdict, if there is only one."""
    verdicts = {judged.verdict for point in comparison.points for judged in point.judged}
    return f"B against A: {verdicts.pop()}" if len(verdicts) == 1 else "B against A"


def forest(point: Point) -> dict[str, Any] | None:
    """A line for each metric: the difference and its interval in percent of A, and as a band what could have been found."""
    rows = [measure for measure in point.measures if measure.interval]
    if not rows:
        return None
    names = [escape(name_of(row)) for row in rows]
    found = [row.interval for row in rows if row.interval]
    band = {
        "type": "bar",
        "orientation": "h",
        "name": "below the smallest detectable difference",
        "y": names,
        "base": [-fall(each.smallest) for each in found],
        "x": [each.smallest + fall(each.smallest) for each in found],
        "marker": {"color": "var(--shade)", "line": {"width": 0}},
        "hovertemplate": "%{y}<br>up to %{customdata:.2f}% is the smallest detectable difference<extra></extra>",
        "customdata": [each.smallest for each in found],
    }
    points = {
        "type": "scatter",
        "mode": "markers",
        "name": "B against A",
        "y": names,
        "x": [each.percent for each in found],
        "marker": {"size": 8, "color": [SHOWN if row.shown else NOT_SHOWN for row in rows]},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [each.high - each.percent for each in found],
            "arrayminus": [each.percent - each.low for each in found],
            "thickness": 1.5,
            "width": 4,
            "color": "var(--muted)",
        },
        "customdata": [[each.low, each.high, verdict_word(row)] for row, each in zip(rows, found, strict=True)],
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
    measure = next((measure for measure in point.measures if _decides(measure, point)), None)
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
    layout["yaxis"] |= {"title": {"text": escape(f"{name_of(measure)}, {measure.unit}")}, "tickformat": "~s"}
    return {"data": traces, "layout": layout | {"showlegend": True}}


def _decides(measure: Measure, point: Point) -> bool:
    return any((each.workload, each.decided_by) == (measure.workload, measure.metric) for each in point.judged)
