"""The page of a fitted model: runs, curve and band over the table's entries or the load, and the errors where it had not looked."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from windtunnel.format import percent
from windtunnel.model.record import Curve, LatencyCurve, ModelRecord
from windtunnel.runs.files import replace
from windtunnel.views.pages import model_charts
from windtunnel.views.pages.page import filled, host_lines, pretty
from windtunnel.views.terminal.model import capacity_words, curve_sentences, notes, settings_words, thesis_rows


@dataclass(frozen=True)
class Section:
    """One curve: its words, its plots by their places in the page, and the forms that were tried."""

    title: str
    form: str
    sentences: list[str]
    places: list[str]
    curve: Curve | LatencyCurve
    captions: list[str] = field(default_factory=list)
    thesis: list[tuple[str, float, float, float]] = field(default_factory=list)
    """What, and A, K and D of the thesis' T = A/(n + K) + D."""


def write(model: ModelRecord, path: Path) -> Path:
    """Writes the page and returns its path. Raises UserError where it cannot."""
    replace(path, render(model))
    return path


def render(model: ModelRecord) -> str:
    """The page as HTML. What came from users is escaped by the template, and in plots by `model_charts`."""
    charts: dict[str, dict[str, Any]] = {}
    sections = [_cost(model, curve, charts) for curve in model.curves]
    sections += [_latency(curve, charts) for curve in model.latency]
    return filled(
        "model.html",
        charts,
        model=model,
        notes=notes(model),
        sections=sections,
        host=host_lines(model.host),
        versions=model.versions | {"Study": model.provenance.study},
        facts=pretty(model.host),
    )


def _cost(model: ModelRecord, curve: Curve, charts: dict[str, dict[str, Any]]) -> Section:
    places = _placed(charts, [model_charts.cost(model, curve), model_charts.residuals(curve)])
    captions = [
        "Points: runs; line: the fitted form; band: 95%, of the parameters and of the held-out errors; beyond the sizes "
        "that were run it is dotted. " + model_charts.thesis_words(curve),
        "Predicted over measured at each size, by the form that was chosen and fitted without it. The grey band is the noise between runs.",
    ]
    words = next(one.words for one in curve.tried if one.form == curve.form)
    return Section(
        settings_words(curve.settings),
        f"{curve.form}: {words}",
        curve_sentences(curve),
        places,
        curve,
        captions,
        thesis_rows(curve),
    )


def _latency(curve: LatencyCurve, charts: dict[str, dict[str, Any]]) -> Section:
    places = _placed(charts, [model_charts.latency(curve), model_charts.latency_residuals(curve)])
    errors = ", ".join(f"{name} {percent(value)}" for name, value in curve.mape.items())
    said = [capacity_words(curve), f"leave one out, mean error: {errors}"]
    captions = [
        "Points: medians of the runs at a load; lines: the fitted form. p99.9 is shown without a verdict, because the host dominates it on a shared machine.",
        "Predicted over measured at each load, by the form that was chosen and fitted without it.",
    ]
    words = next(one.words for one in curve.tried if one.form == curve.form)
    return Section(settings_words(curve.settings), f"{curve.form}: {words}", said, places, curve, captions)


def _placed(charts: dict[str, dict[str, Any]], plots: list[dict[str, Any]]) -> list[str]:
    places = []
    for plot in plots:
        places.append(place := f"plot-{len(charts)}")
        charts[place] = plot
    return places
