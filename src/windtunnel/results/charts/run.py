"""The plots of a run, as plain JSON for plotly.

Colours are names of the style sheet's variables ("var(--work)"): page.js puts in those of the theme that is on. Text from
users is escaped, because plotly reads a little HTML in labels.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from windtunnel.engine.windows import Window
from windtunnel.format import number
from windtunnel.results.charts.layout import SERIES, label_text, layout_of
from windtunnel.results.charts.limit_line import Limit, limit_line
from windtunnel.results.charts.percentiles import percentile_chart, percentile_curve
from windtunnel.runs.histogram import merge
from windtunnel.runs.metrics import measured, ratio
from windtunnel.runs.reader import Run
from windtunnel.runs.rows import StageRow, WorkerRow

STATES = ("var(--series-2)", "var(--series-3)", "var(--series-4)")
STATE_OPACITY = 0.25
LABEL_SHARE = 0.06
"""Of the chart's width: a narrower stretch has no room for a word."""
_BAR_PX = 30
NOT_RUN = ("hello", "drain")
"""Phases without traffic, or with its rest only."""


def cost(rows: list[StageRow]) -> dict[str, Any] | None:
    """One bar a stage: ns of work and of stall per packet, in the order in which a packet travels."""
    timed = [row for row in rows if row.work_ns is not None]
    if not timed:
        return None
    labels = [label_text(f"{row.endpoint}  {row.stage}") for row in timed]

    def bar(name: str, colour: str, values: Sequence[float | None]) -> dict[str, Any]:
        return {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "y": labels,
            "x": values,
            "marker": {"color": colour},
            "hovertemplate": "%{y}<br>%{x:.1f} ns of " + name + " per packet<extra></extra>",
        }

    layout = layout_of(len(timed) * _BAR_PX + 90)
    layout["xaxis"] |= {"title": {"text": "ns per packet"}, "rangemode": "tozero"}
    layout["yaxis"] |= {"autorange": "reversed", "showgrid": False, "ticklabelstandoff": 6}
    layout |= {"barmode": "stack", "bargap": 0.35, "annotations": list(map(_total, labels, timed))}
    work = bar("work", "var(--work)", [row.work_ns for row in timed])
    return {"data": [work, bar("stall", "var(--stall)", [row.stall_ns or 0 for row in timed])], "layout": layout}


def workers(rows: list[WorkerRow]) -> dict[str, Any] | None:
    """One bar a worker: what its time went into; the parts add up to all of it."""
    timed = [row for row in rows if row.work_share is not None]
    if not timed:
        return None
    labels = [label_text(f"{row.sides}  CPU {row.cpu}") for row in timed]
    parts: tuple[tuple[str, str, Callable[[WorkerRow], float | None]], ...] = (
        ("work", "var(--work)", lambda row: row.work_share),
        ("stall", "var(--stall)", lambda row: row.stall_share),
        ("idle", "var(--idle)", lambda row: row.idle_share),
        ("interrupted", "var(--interrupted)", lambda row: row.interrupted_share),
        ("own traffic", "var(--series-4)", lambda row: row.traffic_share),
    )
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "y": labels,
            "x": [share(row) for row in timed],
            "marker": {"color": colour},
            "hovertemplate": "%{y}<br>%{x:.1%} " + name + "<extra></extra>",
        }
        for name, colour, share in parts
        if name != "own traffic" or any(map(share, timed))
    ]
    layout = layout_of(len(timed) * (_BAR_PX + 8) + 90)
    layout["xaxis"] |= {"tickformat": ".0%", "range": [0, 1], "showgrid": False}
    layout["yaxis"] |= {"autorange": "reversed", "showgrid": False, "ticklabelstandoff": 6}
    return {"data": data, "layout": layout | {"barmode": "stack", "bargap": 0.4}}


def throughput(run: Run, limit: Limit | None = None) -> dict[str, Any] | None:
    """Per window: responses of each workload, or packets of each port without a client. Excluded windows are shaded. A line marks
    the limit."""
    data: list[dict[str, Any]] = []
    shades: list[dict[str, Any]] = []
    asked = any(window.workloads for windows in run.windows.values() for window in windows)
    for engine in run.record.engines:
        windows = [window for window in run.windows[engine.name] if window.phase not in NOT_RUN]
        if not windows:
            continue
        begin = windows[0].start_ns
        middles = [(window.start_ns + window.end_ns - 2 * begin) / 2e9 for window in windows]
        rates = (
            _responses(windows, [workload.name for workload in engine.plan.workloads]) if asked else _received(windows)
        )
        data += [_line(name, middles, values, len(data) + n) for n, (name, values) in enumerate(rates.items())]
        shades = shades or _shades(
            windows, begin, {window.index for window in run.not_excluded[engine.name]}, _states(run)
        )
    if not data:
        return None
    data += _state_legend(_colours(_states(run)))
    layout = layout_of(300)
    layout["xaxis"] |= {"title": {"text": "seconds since the first window"}, "showgrid": False}
    layout["yaxis"] |= {"tickformat": "~s", "rangemode": "tozero", "title": {"text": "per second"}}
    layout |= {"shapes": shades, "showlegend": True, "hovermode": "x unified"}
    return {"data": data, "layout": layout | (limit_line(run, limit, data, shades) if limit else {})}


def latency(run: Run) -> dict[str, Any] | None:
    """Percentile curves, as HdrHistogram draws them: the further right, the rarer."""
    data: list[dict[str, Any]] = []
    for engine in run.record.engines:
        chosen = measured(run.counted[engine.name])
        for index, workload in enumerate(engine.plan.workloads):
            merged = merge(w.latency for window in chosen for w in window.workloads if w.workload == index)
            if merged is not None and merged.total:
                data.append(percentile_curve(label_text(workload.name), merged, len(data)))
    return percentile_chart(data, 360)


def _responses(windows: list[Window], names: list[str]) -> dict[str, list[float | None]]:
    return _rates(
        [{f"responses of {label_text(names[w.workload])}": w.responses for w in x.workloads} for x in windows], windows
    )


def _received(windows: list[Window]) -> dict[str, list[float | None]]:
    return _rates(
        [{label_text(f"packets received by the {p.endpoint}"): p.rx_packets for p in w.ports} for w in windows], windows
    )


def _rates(counts: list[dict[str, int]], windows: list[Window]) -> dict[str, list[float | None]]:
    """Name of a line -> its value per second in each window; None where a window has none."""
    spans = [(window.end_ns - window.start_ns) / 1e9 for window in windows]
    names = dict.fromkeys(name for count in counts for name in count)
    return {name: [ratio(c.get(name), span) for c, span in zip(counts, spans, strict=True)] for name in names}


def _states(run: Run) -> dict[int, str]:
    """Index of a window -> its host state, of all windows whose state is known and not the headline."""
    validity = run.record.validity
    if validity is None:
        return {}
    return {n: state.name for state in validity.states if not validity.of_metrics(state) for n in state.indexes}


def _colours(states: Mapping[int, str]) -> dict[str, str]:
    return {name: STATES[n % len(STATES)] for n, name in enumerate(dict.fromkeys(states.values()))}


def _state_legend(colours: Mapping[str, str]) -> list[dict[str, Any]]:
    """An entry for the shade of each host state: stretches of it are often too short for a label."""
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": label_text(f"not counted: {name}"),
            "x": [None],
            "y": [None],
            "marker": {"color": colour, "symbol": "square", "size": 11, "opacity": STATE_OPACITY},
        }
        for name, colour in colours.items()
    ]


def _shades(windows: list[Window], begin: int, counted: set[int], states: Mapping[int, str]) -> list[dict[str, Any]]:
    """A shade over every stretch of windows that no metric uses. Each host state has a colour; others are labelled with their phase or
    "excluded" where there is room."""
    colours = _colours(states)
    stretches: list[list[Any]] = []
    for window in windows:
        used = window.phase == "measure" and window.index in counted
        excluded = states.get(window.index, "excluded")
        what = "measure" if used else excluded if window.phase == "measure" else window.phase
        if stretches and stretches[-1][0] == what:
            stretches[-1][2] = window.end_ns
        else:
            stretches.append([what, window.start_ns, window.end_ns])
    room = LABEL_SHARE * (windows[-1].end_ns - begin)
    return [
        {
            "type": "rect",
            "xref": "x",
            "yref": "paper",
            "x0": (start - begin) / 1e9,
            "x1": (end - begin) / 1e9,
            "y0": 0,
            "y1": 1,
            "fillcolor": colours.get(phase, "var(--shade)"),
            "opacity": STATE_OPACITY if phase in colours else 1,
            "line": {"width": 0},
            "layer": "below",
            "label": {
                "text": phase if phase not in colours and end - start > room else "",
                "textposition": "bottom center",
                "font": {"color": "var(--muted)", "size": 11},
            },
        }
        for phase, start, end in stretches
        if phase != "measure"
    ]


def _line(name: str, x: list[float], y: list[float | None], position: int) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": x,
        "y": y,
        "line": {"color": SERIES[position % len(SERIES)], "width": 2},
        "marker": {"size": 5},
        "hovertemplate": "%{y:.4s}/s",
    }


def _total(label: str, row: StageRow) -> dict[str, Any]:
    """The number at the end of a bar."""
    total = (row.work_ns or 0) + (row.stall_ns or 0)
    place = {"x": total, "y": label, "xanchor": "left", "xshift": 5, "showarrow": False}
    return {"text": number(total), "font": {"color": "var(--muted)", "size": 11}} | place
