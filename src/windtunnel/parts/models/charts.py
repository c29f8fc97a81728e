"""The plots of a model, as plain JSON for plotly."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from windtunnel.format import duration
from windtunnel.parts.models.arrays import Floats
from windtunnel.parts.models.latency import fitted_of
from windtunnel.parts.models.model_record import Curve, LatencyCurve, ModelRecord
from windtunnel.parts.models.points import world_of
from windtunnel.parts.models.predict import FURTHEST, band, costs_at, drawn_costs, samples_of
from windtunnel.parts.models.thesis import published_mpps
from windtunnel.results.charts.layout import SERIES, duration_ticks, label_text, layout_of
from windtunnel.runs.record import LEAST_NUMBER

_ALONG = 60
CORES_DRAWN = (1, 2, 3)
"""Numbers of cores whose lines are drawn in any case, as in the thesis."""
FAINT = "var(--muted)"
_RATE = {"text": "", "hovertemplate": "%{x:,.4s}: %{y:.3g} Mpps<extra>%{fullData.name}</extra>"}
_ROUNDS = ("solid", "dash")
"""Of lines, by how often their colours have been used."""


def cost(model: ModelRecord, curve: Curve) -> dict[str, Any]:
    """ns per packet over entries, both by ratios."""
    world, rng = world_of(model.ladder), np.random.default_rng(1)
    low, high = curve.points[0].entries, curve.points[-1].entries
    inside, outside = np.geomspace(low, high, _ALONG), np.geomspace(high, FURTHEST * high, 12)
    along = np.concatenate([inside, outside])
    bands = [band(samples_of(curve, costs, rng)) for costs in drawn_costs(curve, along, world).T]
    data = [
        _line("95%", [*along, *along[::-1]], [h for _, h in bands] + [l for l, _ in bands][::-1])
        | {"fill": "toself", "fillcolor": SERIES[0], "opacity": 0.15, "line": {"width": 0}, "hoverinfo": "skip"},
        *_published(curve, along),
        _line(label_text(curve.form), inside, costs_at(curve, inside, world)) | _stroke(SERIES[0], "solid"),
        _line("beyond", outside, costs_at(curve, outside, world)) | _stroke(SERIES[0], "dot"),
        _dots("runs", [p.entries for p in curve.points for _ in p.runs], [ns for p in curve.points for ns in p.runs]),
    ]
    layout = layout_of(420)
    layout["xaxis"] |= {"title": {"text": "entries"}, "type": "log", "dtick": 1, "exponentformat": "power"}
    layout["yaxis"] |= {
        "title": {"text": label_text(f"ns per packet, {model.response}")},
        "type": "log",
        "tickformat": "~r",
        "dtick": "D2",
    }
    return {"data": data, "layout": layout | {"showlegend": True}}


def throughput(model: ModelRecord, curve: Curve) -> dict[str, Any] | None:
    """Mpps over entries: the fitted form on 1, 2 and 3 cores and on as many as ran, beside the runs. None: the model is older, and has no cores
    of runs."""
    ran = cores_of_runs(curve)
    if not ran:
        return None
    along = np.geomspace(curve.points[0].entries, curve.points[-1].entries, _ALONG)
    costs = costs_at(curve, along, world_of(model.ladder))
    data: list[dict[str, Any]] = []
    for n, cores in enumerate(sorted({*CORES_DRAWN, *ran})):
        colour, has_run = SERIES[n % len(SERIES)], cores in ran
        name = f"T(n, {cores})" if has_run else f"T(n, {cores}), not run"
        dash = _ROUNDS[n // len(SERIES) % len(_ROUNDS)] if has_run else "dot"
        fitted = zip(along, costs, strict=True)
        data.append(_line(name, *_rates(curve, fitted, cores)) | _stroke(colour, dash) | _RATE)
        if has_run:
            of_runs = [
                (p.entries, ns)
                for p in curve.points
                for ns, of_run in zip(p.runs, p.cores, strict=True)
                if of_run == cores
            ]
            runs = f"runs on {cores} core{'s' if cores > 1 else ''}"
            data.append(_dots(runs, *_rates(curve, of_runs, cores), colour) | _RATE)
    layout = layout_of(420)
    layout["xaxis"] |= {"title": {"text": "entries"}, "type": "log", "dtick": 1, "exponentformat": "power"}
    layout["yaxis"] |= {
        "title": {"text": label_text(f"Mpps, {model.response}")},
        "rangemode": "tozero",
        "tickformat": "~g",
    }
    return {"data": data, "layout": layout | {"showlegend": True}}


def throughput_words(curve: Curve) -> str:
    """The caption of that plot."""
    ran = cores_of_runs(curve)
    shared = (
        f"each core beyond the first adds {100 * curve.contention:.3g}% to the cost of a packet, fitted to these runs"
        if len(ran) > 1
        else "cores were not seen to slow each other down, because all runs had as many: more cores are proportional"
    )
    return f"Points: runs; lines: T(n, c), packets a second of c cores, by the fitted form; dotted: no run had as many cores. {shared[0].upper()}{shared[1:]}."


def cores_of_runs(curve: Curve) -> set[int]:
    """The numbers of cores that ran."""
    return {cores for point in curve.points for cores in point.cores}


def _rates(curve: Curve, costs: Iterable[tuple[float, float]], cores: int) -> tuple[list[float], list[float]]:
    """Entries, and Mpps of some cores, from entries and the cost on one core. A cost of 0, as a model that was sent may have, is left out."""
    above = [(entries, float(ns)) for entries, ns in costs if ns > LEAST_NUMBER]
    more = 1 + curve.contention * (cores - 1)
    return [entries for entries, _ in above], [1e3 * cores / (ns * more) for _, ns in above]


def thesis_words(curve: Curve) -> str:
    """The caption of a plot with the thesis' curve; it published no numbers of other tables."""
    if curve.table.get("kind") == "exact":
        return "Faint: the curve that the thesis published for its exact table. It covers the whole switch, on the machine of the thesis."
    return "The thesis published no coefficients for this kind of table."


def residuals(curve: Curve) -> dict[str, Any]:
    """Held-out errors by size, in percent."""
    held = [(p, p.held_out) for p in curve.points if p.held_out is not None]
    sizes = [p.entries for p, _ in held]
    layout = layout_of(220)
    layout["xaxis"] |= {"title": {"text": "entries"}, "type": "log", "dtick": 1, "exponentformat": "power"}
    layout["yaxis"] |= {"title": {"text": "held-out error, %"}, "zeroline": True}
    layout["shapes"] = [_noise(100 * curve.noise)] if curve.noise else []
    errors = [100 * (held_out / p.ns - 1) for p, held_out in held]
    return {"data": [_dots("held out", sizes, errors)], "layout": layout | {"showlegend": False}}


def latency(curve: LatencyCurve) -> dict[str, Any]:
    """Percentiles over load."""
    fitted, loads = fitted_of(curve), [p.load for p in curve.points]
    along = np.linspace(loads[0], min(loads[-1] * 1.05, 0.999 * curve.capacity), _ALONG)
    data = []
    for n, name in enumerate(curve.coefficients):
        colour = SERIES[n % len(SERIES)]
        data.append(_line(name, along, [fitted.at(float(x), name) for x in along]) | _stroke(colour, "solid"))
        dots = _dots(name, loads, [p.ns[name] for p in curve.points], colour)
        data.append(dots | {"showlegend": False})
    layout = layout_of(420)
    layout["xaxis"] |= {"title": {"text": "load, messages per second"}, "tickformat": "~s", "rangemode": "tozero"}
    layout["yaxis"] |= {"type": "log"} | duration_ticks([round(v) for p in curve.points for v in p.ns.values()])
    return {"data": data, "layout": layout | {"showlegend": True}}


def latency_residuals(curve: LatencyCurve) -> dict[str, Any]:
    """Held-out errors by load, in percent."""
    data = [
        _dots(
            name,
            [p.load for p in curve.points if p.held_out[name] is not None],
            [100 * (held / p.ns[name] - 1) for p in curve.points if (held := p.held_out[name]) is not None],
            SERIES[n % len(SERIES)],
        )
        for n, name in enumerate(curve.coefficients)
    ]
    layout = layout_of(240)
    layout["xaxis"] |= {"title": {"text": "load, messages per second"}, "tickformat": "~s", "rangemode": "tozero"}
    layout["yaxis"] |= {"title": {"text": "held-out error, %"}, "zeroline": True}
    return {"data": data, "layout": layout | {"showlegend": True}}


def _published(curve: Curve, along: Floats) -> list[dict[str, Any]]:
    if curve.table.get("kind") != "exact":
        return []
    return [
        _line("thesis (its machine)", along, 1e3 / published_mpps(along)) | _stroke(FAINT, "dash", 1) | {"opacity": 0.5}
    ]


def _line(name: str, x: Iterable[float], y: Sequence[float] | Floats) -> dict[str, Any]:
    hover = {"hovertemplate": "%{x:,.4s}: %{text}<extra></extra>", "text": [duration(ns) for ns in y]}
    values = {"x": [float(v) for v in x], "y": [float(v) for v in y]}
    return {"type": "scatter", "mode": "lines", "name": name} | values | hover


def _stroke(colour: str, dash: str, width: int = 2) -> dict[str, Any]:
    return {"line": {"color": colour, "width": width, "dash": dash}}


def _dots(name: str, x: list[float], y: list[float], colour: str = SERIES[0]) -> dict[str, Any]:
    marker = {"size": 6, "color": colour, "opacity": 0.7}
    return {"type": "scatter", "mode": "markers", "name": name, "x": x, "y": y, "marker": marker}


def _noise(share: float) -> dict[str, Any]:
    place = {"xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": -share, "y1": share}
    return {"type": "rect", "fillcolor": FAINT, "opacity": 0.15, "line": {"width": 0}, "layer": "below"} | place
