"""Latency of a study's points from whole histograms: boxes with a baseline over the cores, and percentile curves."""

import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np

from windtunnel.engine.histogram import Histogram
from windtunnel.format import duration
from windtunnel.measure.study.columns import has_metrics
from windtunnel.measure.study.record import FactorRecord, LevelRecord
from windtunnel.measure.study.study import Study
from windtunnel.results.charts.layout import SERIES, duration_ticks, label_text, layout_of
from windtunnel.results.charts.marks import Mark, along, in_layout, shapes
from windtunnel.results.charts.percentiles import percentile_chart, percentile_curve
from windtunnel.results.charts.study import DASHES, cores_of
from windtunnel.runs import load
from windtunnel.runs.histogram import merge, percentile
from windtunnel.runs.metrics import measured

BOX = (5, 25, 50, 75, 95)
"""Lower whisker, box, median, box, upper whisker; percentiles."""


def histograms(study: Study) -> dict[int, Histogram]:
    """Point -> latency of all responses of its runs, all workloads together."""
    parts: dict[int, list[Histogram]] = {}
    for place, point in {row["directory"]: row["point"] for row in study.blocked.rows if has_metrics(row)}.items():
        run = load(study.path / place)
        for windows in run.counted.values():
            parts.setdefault(point, []).extend(w.latency for x in measured(windows) for w in x.workloads)
    merged = {point: merge(those) for point, those in parts.items()}
    return {point: histogram for point, histogram in merged.items() if histogram is not None and histogram.total}


def percentile_curves(
    study: Study, latencies: dict[int, Histogram], marks: Sequence[Mark] = ()
) -> dict[str, Any] | None:
    """A curve a point, as HdrHistogram draws them; marks of the median lie across."""
    data = [percentile_curve(_name(study, point), latencies[point], n) for n, point in enumerate(sorted(latencies))]
    for n, trace in enumerate(data):
        trace["line"]["dash"] = DASHES[n // len(SERIES) % len(DASHES)]
    chart = percentile_chart(data, 420)
    if chart:
        highest = max(histogram.max or 0 for histogram in latencies.values())
        chart["layout"] |= in_layout(shapes([], along(marks, "p50", highest)))
    return chart


def boxes(study: Study, latencies: dict[int, Histogram]) -> dict[str, Any] | None:
    """A box a point, those of one number of cores side by side; through the medians of each number of cores, L(c)."""
    if not latencies:
        return None
    cores = cores_of(study.record)
    points = sorted(latencies, key=lambda point: (_core_count(study, cores, point), point))
    data: list[dict[str, Any]] = []
    for n, count in enumerate(dict.fromkeys(_core_count(study, cores, point) for point in points)):
        mine = [point for point in points if _core_count(study, cores, point) == count]
        five = [[percentile(latencies[point], p) for p in BOX] for point in mine]
        data.append(
            {
                "type": "box",
                "name": "responses" if cores is None else f"{count} core{'s' if count > 1 else ''}",
                "x": [_place(study, cores, point) for point in mine],
                "lowerfence": [b[0] for b in five],
                "q1": [b[1] for b in five],
                "median": [b[2] for b in five],
                "q3": [b[3] for b in five],
                "upperfence": [b[4] for b in five],
                "marker": {"color": SERIES[n % len(SERIES)]},
            }
        )
    if (line := baseline(study, latencies)) is not None:
        level = {_place(study, cores, point): line[0] + line[1] * _core_count(study, cores, point) for point in points}
        data.append(
            {"type": "scatter", "mode": "lines", "name": "L(c)", "x": list(level), "y": list(level.values())}
            | {
                "line": {"color": "var(--ink)", "width": 1.5, "dash": "dash"},
                "hovertemplate": "%{y:.0f} ns<extra>L(c)</extra>",
            }
        )
    layout = layout_of(400)
    layout["xaxis"] |= {"type": "category", "title": {"text": _title(study, cores)}, "showgrid": False}
    values = [
        value
        for trace in data
        if trace["type"] == "box"
        for key in ("lowerfence", "upperfence")
        for value in trace[key]
    ]
    layout["yaxis"] |= {"type": "log"} | duration_ticks([int(value) for value in values if value])
    return {"data": data, "layout": layout | {"showlegend": True}}


def baseline(study: Study, latencies: dict[int, Histogram]) -> tuple[float, float] | None:
    """a and b of L(c) = a + b c in ns, fitted to the points' medians by least squares; None with fewer than two numbers of cores."""
    cores = cores_of(study.record)
    medians: dict[int, list[float]] = {}
    for point, histogram in latencies.items():
        if (median := percentile(histogram, 50)) is not None:
            medians.setdefault(_core_count(study, cores, point), []).append(median)
    if cores is None or len(medians) < 2:
        return None
    slope, constant = np.polyfit(list(medians), [statistics.median(those) for those in medians.values()], 1)
    return float(constant), float(slope)


def caption(study: Study, latencies: dict[int, Histogram]) -> str:
    """The caption of the boxes."""
    boxes = "Box: the middle half of all responses. Whiskers: 5% and 95%. All valid runs of a point together."
    if (line := baseline(study, latencies)) is None:
        return f"{boxes} L(c) needs points of two numbers of cores: not fitted."
    grows = f"{'+' if line[1] >= 0 else '−'} {duration(abs(line[1]))} × c"
    return f"{boxes} L(c) = {'−' if line[0] < 0 else ''}{duration(abs(line[0]))} {grows}, by least squares through the medians."


def _core_count(study: Study, cores: FactorRecord | None, point: int) -> int:
    return 1 if cores is None else int(_level(study, cores, point).label)


def _level(study: Study, factor: FactorRecord, point: int) -> LevelRecord:
    cell = study.record.point(point).cells[factor.name]
    return next(level for level in factor.levels if level.cell == cell)


def _name(study: Study, point: int) -> str:
    return label_text(", ".join(f"{f.name} {_level(study, f, point).label}" for f in study.record.factors))


def _place(study: Study, cores: FactorRecord | None, point: int) -> str:
    """Position of a box: every factor but the cores, then the cores."""
    others = [_level(study, f, point).label for f in study.record.factors if f is not cores]
    counted = [] if cores is None else [f"{_core_count(study, cores, point)} c"]
    return label_text(" · ".join([*others, *counted]))


def _title(study: Study, cores: FactorRecord | None) -> str:
    others = " · ".join(factor.name for factor in study.record.factors if factor is not cores)
    return label_text(", ".join(filter(None, [others, "by cores" if cores else ""])))
