"""The plots of a study: a curve for one factor, a heat map and curves for two, small multiples for more.

Each plot shows the median of a point's valid runs. Single runs are points. The band reaches from the smallest to the largest run.
"""

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from windtunnel.measure.study.columns import metric_of
from windtunnel.measure.study.findings import Sample
from windtunnel.measure.study.record import FactorRecord, StudyRecord
from windtunnel.results import study_metrics
from windtunnel.results.charts import references
from windtunnel.results.charts.layout import SERIES, axis, duration_ticks, label_text, layout_of, ticks_at
from windtunnel.results.charts.marks import Mark, across, along, in_layout, shapes

DASHES = ("solid", "dash", "dot", "dashdot")
_COLUMNS = 3
_COUNT = re.compile(r"[1-9][0-9]{0,3}", re.ASCII)
_PANEL_PX = 250
_THOUSAND = 1000
"""From there on ticks have SI prefixes."""
_FAR = 100
"""Ratio from which on costs would lie on the axis at 0."""
_CLOSE = 0.1
"""Of an axis: values of a factor closer to one another would have their labels in one place."""


@dataclass(frozen=True)
class Drawn:
    """One metric of one workload, over the factors that change."""

    record: StudyRecord
    metric: str
    samples: Sequence[Sample]
    marks: Sequence[Mark] = ()

    @property
    def factors(self) -> list[FactorRecord]:
        """Those that change among the points that have run, in the file's order."""
        return [f for f in self.record.factors if len({self.cell(s, f) for s in self.samples}) > 1]

    def cell(self, sample: Sample, factor: FactorRecord) -> Any:
        return self.record.point(sample.point).cells[factor.name]

    def levels(self, factor: FactorRecord) -> list[Any]:
        """Those that have run, in the file's order."""
        finished = {self.cell(sample, factor) for sample in self.samples}
        return [level for level in factor.levels if level.cell in finished]

    def where(self, wanted: dict[str, Any]) -> list[Sample]:
        """The samples of these cells, by factor's name."""
        return [s for s in self.samples if all(self.record.point(s.point).cells[n] == c for n, c in wanted.items())]


def plots(drawn: Drawn) -> list[dict[str, Any]]:
    """The plots for this number of factors; none if nothing changes."""
    match drawn.factors:
        case []:
            return []
        case [only]:
            return [curve(drawn, only)]
        case [first, second]:
            return [heat_map(drawn, first, second), curves(drawn, first, second)]
    return [small_multiples(drawn)]


def curve(drawn: Drawn, factor: FactorRecord) -> dict[str, Any]:
    """The median over one factor, a band from the least to the greatest run, every run a point."""
    data = _series(drawn, factor, {}, "median", 0, band=True, runs=True)
    layout = _layout(drawn, factor, 340) | {"showlegend": True} | in_layout(_marked(drawn, factor))
    return {"data": [*data, *_reference(drawn, factor)], "layout": layout}


def curves(drawn: Drawn, first: FactorRecord, second: FactorRecord) -> dict[str, Any]:
    """The median over the first factor, one line a level of the second."""
    data = [
        trace
        for n, level in enumerate(drawn.levels(second))
        for trace in _series(drawn, first, {second.name: level.cell}, f"{second.name} {level.label}", n, runs=True)
    ]
    data += _reference(drawn, first)
    layout = _layout(drawn, first, 380) | {"showlegend": True} | in_layout(_marked(drawn, first))
    return {"data": data, "layout": layout}


def _marked(
    drawn: Drawn, factor: FactorRecord, wanted: dict[str, Any] | None = None, axes: str = ""
) -> list[dict[str, Any]]:
    """The marks of a plot over a factor; in one of several panels those of its cells, with entries in the legend of the first one."""
    of_panel = [m for m in drawn.marks if all(m.only.get(name, cell) == cell for name, cell in (wanted or {}).items())]
    cells = [level.cell for level in drawn.levels(factor)] if _is_number(factor) else []
    upright = across(of_panel, factor.name, cells) if cells else []
    flat = along(of_panel, drawn.metric, max(value for sample in drawn.samples for value in sample.values))
    return shapes(upright, flat, axes, legend=not axes)


def beside(drawn: Drawn, event: Drawn) -> dict[str, Any] | None:
    """A metric over one or two factors, and on an axis at the right what the kernel counted of an event: thin, with open marks. None: another
    number of factors changes."""
    if len(drawn.factors) not in (1, 2) or not event.samples:
        return None
    first, *rest = drawn.factors
    lines = [{second.name: level.cell} for second in rest for level in drawn.levels(second)] or [{}]
    labels = [f"{second.name} {level.label}" for second in rest for level in drawn.levels(second)] or [""]
    data: list[dict[str, Any]] = []
    for n, (wanted, label) in enumerate(zip(lines, labels, strict=True)):
        data += _series(drawn, first, wanted, label or drawn.metric, n)
        counted = _series(event, first, wanted, ", ".join(filter(None, [event.metric, label])), n)
        data += [_thin(trace) | {"yaxis": "y2"} for trace in counted]
    layout = _layout(drawn, first, 420)
    layout["yaxis"] |= {"title": {"text": label_text(drawn.metric)}}
    right = {
        "overlaying": "y",
        "side": "right",
        "tickmode": "auto",
        "showgrid": False,
        "title": {"text": label_text(event.metric)},
    }
    layout["yaxis2"] = axis() | _vertical(event) | right
    return {"data": data, "layout": layout | {"showlegend": True}}


def _thin(trace: dict[str, Any]) -> dict[str, Any]:
    return trace | {"line": trace["line"] | {"width": 1}, "marker": {"size": 8, "symbol": "diamond-open"}}


def _reference(drawn: Drawn, factor: FactorRecord) -> list[dict[str, Any]]:
    """The published curve that the study names, for the numbers of cores that have run; only packets over entries have one."""
    if drawn.record.reference is None or factor.name != "entries" or not drawn.metric.endswith("mpps"):
        return []
    cores = cores_of(drawn.record)
    counts = [1] if cores is None else [int(level.label) for level in drawn.levels(cores)]
    return references.traces(drawn.record.reference, [level.cell for level in drawn.levels(factor)], counts)


def cores_of(record: StudyRecord) -> FactorRecord | None:
    """The factor that counts cores: it is called so, and its labels are whole numbers."""
    named = next((factor for factor in record.factors if factor.name == "cores"), None)
    counts = named is not None and all(_COUNT.fullmatch(level.label) for level in named.levels)
    return named if counts else None


def heat_map(drawn: Drawn, first: FactorRecord, second: FactorRecord) -> dict[str, Any]:
    """Medians: the first factor to the right, the second upwards."""
    columns, lines = drawn.levels(first), drawn.levels(second)
    cells = [[drawn.where({first.name: x.cell, second.name: y.cell}) for x in columns] for y in lines]
    medians = [[cell[0].median if cell else None for cell in line] for line in cells]
    texts = [["" if m is None else study_metrics.text(drawn.metric, m) for m in line] for line in medians]
    layout = layout_of(90 + 44 * max(len(lines), 2))
    layout["xaxis"] |= {"type": "category", "title": {"text": label_text(first.name)}, "showgrid": False}
    layout["yaxis"] |= {
        "type": "category",
        "title": {"text": label_text(second.name), "standoff": 14},
        "showgrid": False,
    }
    trace = {
        "type": "heatmap",
        "x": [label_text(x.label) for x in columns],
        "y": [label_text(y.label) for y in lines],
        "z": [[_shade(drawn.metric, m) for m in line] for line in medians],
        "text": texts,
        "texttemplate": "%{text}",
        "colorscale": [[0, "var(--shade)"], [1, "var(--work)"]],
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "hovertemplate": f"{label_text(first.name)} %{{x}}<br>{label_text(second.name)} %{{y}}<br>%{{text}}<extra></extra>",
    }
    return {"data": [trace], "layout": layout}


def small_multiples(drawn: Drawn) -> dict[str, Any]:
    """One panel for each combination of the third factor and those behind it; in each the first to the right, a line a level of
    the second. All panels have the same axes."""
    first, second, *rest = drawn.factors
    panels = list(itertools.product(*(drawn.levels(factor) for factor in rest)))
    lines = -(-len(panels) // _COLUMNS)
    layout = _layout(drawn, first, 60 + _PANEL_PX * lines)
    horizontal, vertical = layout.pop("xaxis"), layout.pop("yaxis")
    layout |= {"annotations": [], "showlegend": True}
    layout["legend"] = layout["legend"] | {"y": 1, "yref": "container", "yanchor": "top"}
    layout["margin"] = layout["margin"] | {"t": 60}
    data: list[dict[str, Any]] = []
    marked: list[dict[str, Any]] = []
    for n, levels in enumerate(panels):
        line, column = divmod(n, _COLUMNS)
        number = str(n + 1) if n else ""
        wanted = {factor.name: level.cell for factor, level in zip(rest, levels, strict=True)}
        for k, level in enumerate(drawn.levels(second)):
            own = _series(drawn, first, wanted | {second.name: level.cell}, f"{second.name} {level.label}", k)
            data += [t | {"xaxis": f"x{number}", "yaxis": f"y{number}", "showlegend": n == 0} for t in own]
        marked += _marked(drawn, first, wanted, number)
        left, crown = column / _COLUMNS, 1 - line / lines - 0.08 / lines
        layout[f"xaxis{number}"] = horizontal | {"anchor": f"y{number}", "domain": [left, left + 0.9 / _COLUMNS]}
        layout[f"yaxis{number}"] = vertical | {
            "anchor": f"x{number}",
            "domain": [crown - 0.66 / lines, crown],
            "showticklabels": column == 0,
            "matches": "y" if n else None,
        }
        title = ", ".join(f"{f.name} {level.label}" for f, level in zip(rest, levels, strict=True))
        layout["annotations"].append(_title(label_text(title), left, crown))
    return {"data": data, "layout": layout | in_layout(marked)}


def _series(
    drawn: Drawn,
    factor: FactorRecord,
    wanted: dict[str, Any],
    name: str,
    position: int,
    band: bool = False,
    runs: bool = False,
) -> list[dict[str, Any]]:
    """The line of medians over a factor, with the other cells as wanted, its band and its runs."""
    points = [(level, s) for level in drawn.levels(factor) for s in drawn.where(wanted | {factor.name: level.cell})]
    if not points:
        return []
    x = [_x(factor, level) for level, _ in points]
    colour, dash = SERIES[position % len(SERIES)], DASHES[position // len(SERIES) % len(DASHES)]
    traces: list[dict[str, Any]] = []
    if band and any(len(sample.values) > 1 for _, sample in points):
        edges = [max(s.values) for _, s in points] + [min(s.values) for _, s in reversed(points)]
        traces.append(
            {"type": "scatter", "name": "range of the runs", "x": x + x[::-1], "y": edges, "fill": "toself"}
            | {"fillcolor": colour, "opacity": 0.16, "line": {"width": 0}, "mode": "lines", "hoverinfo": "skip"}
        )
    traces.append(
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": label_text(name),
            "x": x,
            "y": [s.median for _, s in points],
        }
        | {
            "text": [study_metrics.text(drawn.metric, s.median) for _, s in points],
            "line": {"color": colour, "width": 2, "dash": dash},
        }
        | {
            "marker": {"size": 6},
            "legendgroup": label_text(name),
            "hovertemplate": "%{x}: %{text}<extra>%{fullData.name}</extra>",
        }
    )
    if runs:
        single = [(place, value) for place, (_, s) in zip(x, points, strict=True) for value in s.values]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": "single runs",
                "x": [a for a, _ in single],
                "y": [b for _, b in single],
            }
            | {
                "text": [study_metrics.text(drawn.metric, b) for _, b in single],
                "marker": {"size": 5, "color": colour, "opacity": 0.45},
            }
            | {"showlegend": band, "legendgroup": label_text(name), "hovertemplate": "%{text}<extra></extra>"}
        )
    return traces


def _shade(metric: str, median: float | None) -> float | None:
    """The value behind a cell's colour: the median, or its logarithm for latencies."""
    return math.log10(median) if median and metric in study_metrics.LATENCY else median


def _is_number(factor: FactorRecord) -> bool:
    return factor.type in ("BIGINT", "DOUBLE")


def _x(factor: FactorRecord, level: Any) -> Any:
    """A position on the axis: the number, or the label of a value that is not a number."""
    return level.cell if _is_number(factor) else label_text(level.label)


def _layout(drawn: Drawn, factor: FactorRecord, height: int) -> dict[str, Any]:
    layout = layout_of(height)
    levels = drawn.levels(factor)
    layout["xaxis"] |= {"title": {"text": label_text(factor.name)}, "showgrid": False}
    if _is_number(factor):
        log = _is_log(factor, [level.cell for level in levels])
        ordered = sorted(levels, key=lambda level: level.cell)
        cells, labels = [level.cell for level in ordered], [label_text(level.label) for level in ordered]
        layout["xaxis"] |= ticks_at(cells, labels, log) | ({"type": "log"} if log else {})
    else:
        layout["xaxis"] |= {"type": "category"}
    layout["yaxis"] |= _vertical(drawn)
    return layout


def _is_log(factor: FactorRecord, cells: list[float]) -> bool:
    """Equal ratios, or a list with values that a linear axis would put in one place."""
    ordered = sorted(set(cells))
    close = any(b - a < _CLOSE * (ordered[-1] - ordered[0]) for a, b in itertools.pairwise(ordered))
    return ordered[0] > 0 and (factor.log or close)


def _vertical(drawn: Drawn) -> dict[str, Any]:
    """From 0; latencies, and costs that span powers of ten, on a logarithmic axis in their units."""
    values = [value for sample in drawn.samples for value in sample.values]
    far_apart = drawn.metric.endswith("_ns") and max(values) >= _FAR * min(values)
    if (drawn.metric in study_metrics.LATENCY or far_apart) and min(values) > 0:
        return {"type": "log"} | duration_ticks([int(value) for value in values])
    known = metric_of(drawn.metric)
    percent = known is not None and known[0].form == "percent"
    plain = "~g" if max(values) < _THOUSAND else "~s"
    return {"rangemode": "tozero", "tickformat": ".0%" if percent else plain}


def _title(text: str, x: float, y: float) -> dict[str, Any]:
    place = {"x": x, "y": y, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom", "yshift": 4}
    return {"text": text, "showarrow": False, "font": {"color": "var(--ink)", "size": 12}} | place
