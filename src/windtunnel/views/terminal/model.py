"""Models in the terminal: fits, held-out errors and predictions."""

from collections.abc import Sequence
from shlex import quote
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from windtunnel.format import DASH, duration, number, percent, rate, size
from windtunnel.model.capacity import Capacity
from windtunnel.model.predict import Prediction
from windtunnel.model.record import Curve, LatencyCurve, ModelRecord
from windtunnel.model.requests import Latency, Said
from windtunnel.model.thesis import coefficients, published
from windtunnel.model.validate import Checked
from windtunnel.views.terminal.columns import Column, Fitting


def model_view(model: ModelRecord) -> Group:
    """What `windtunnel model fit` prints."""
    parts: list[RenderableType] = [Text(model.title, style="bold")]
    if model.question:
        parts.append(Text(model.question, style="dim"))
    for curve in model.curves:
        parts += [Text(), *_curve(curve)]
    for latency in model.latency:
        parts += [Text(), *_latency(latency)]
    if model.steps:
        parts += [Text(), Text("the pipeline outside its tables, ns per packet"), _steps(model)]
    return Group(*parts, Text(), *(Text(words, style="dim") for words in notes(model)))


def notes(model: ModelRecord) -> list[str]:
    """Sentences about the whole: what is modelled, from what, on which host."""
    of = {"table": "ns per packet of the table's step", "pipeline": "ns per packet of the whole server"}
    cpu = (model.host.get("cpus") or {}).get("model")
    said = [
        f"{of.get(model.response, model.response)}; {model.provenance.runs} runs of {model.provenance.study}",
        f"host {model.host.get('hostname')}, {cpu}, {model.memory or 'several memory modes'}",
        state_words(model.state),
        *(f"rests on {doubt}" for doubt in model.provenance.doubts),
        *model.provenance.left_out,
    ]
    if model.neighbour:
        said.append(
            f"another hardware thread had a part of the core: costs are brought to {model.neighbour.ticks:.0f} wide ticks, with the power "
            f"{model.neighbour.exponent:.2f}"
        )
    if model.kind == "cost" and model.ladder is None:
        said.append("no ladder of this host: forms that model caches were not tried")
    if outgrown := outgrown_l2(model):
        said.append(outgrown)
    return said


def state_words(state: str | None) -> str:
    """As in "host state one-l3: bands hold only in this state"."""
    return f"host state {state}: bands hold only in this state" if state else "host state not known"


def outgrown_l2(model: ModelRecord) -> str | None:
    """That the model cannot know of the L3, where a table outgrows the L2; None where none does, or the caches are not known."""
    l2 = next((cache.bytes for cache in model.ladder.reported if cache.level == 2), None) if model.ladder else None
    largest = max((point.bytes for curve in model.curves for point in curve.points), default=0.0)
    if l2 is None or largest <= l2:
        return None
    return (
        f"tables up to {size(round(largest))} outgrow the L2, {size(l2)}: which share of the L3 was this host's is not measured, and the "
        "model cannot take it into account"
    )


def settings_words(settings: dict[str, Any]) -> str:
    return ", ".join(f"{path.rpartition('.')[2]} {value}" for path, value in settings.items()) or "all points"


def _curve(curve: Curve) -> list[RenderableType]:
    head = Text.assemble((settings_words(curve.settings), "bold"), f"  {curve.form}: ", _words_of(curve))
    parameters = Fitting(
        [
            Column("parameter", [p.name for p in curve.parameters], words=True),
            Column("value", [f"{p.value:.5g}" for p in curve.parameters]),
            Column("95% from", [DASH if p.low is None else f"{p.low:.5g}" for p in curve.parameters]),
            Column("to", [DASH if p.high is None else f"{p.high:.5g}" for p in curve.parameters]),
        ]
    )
    return [head, parameters, *_thesis(curve), Text(), _tried(curve), Text(), *map(Text, curve_sentences(curve))]


def _thesis(curve: Curve) -> list[RenderableType]:
    """The curve as the thesis writes it, beside the thesis' own coefficients; nothing for any other form."""
    rows = thesis_rows(curve)
    if not rows:
        return []
    table = Fitting(
        [
            Column("T = A/(n + K) + D", [row[0] for row in rows], words=True),
            *(Column(name, [f"{row[n]:.5g}" for row in rows]) for n, name in enumerate(("A, Mpps", "K", "D, Mpps"), 1)),
        ]
    )
    return [Text(), table]


def thesis_rows(curve: Curve) -> list[tuple[str, float, float, float]]:
    """What, A, K and D: of this curve, then of the thesis where it published them (its exact table); empty for any other form."""
    ours = coefficients(curve.form, [parameter.value for parameter in curve.parameters])
    places = ("", "") if len(ours) < 2 else (", below", ", above")
    rows = [(f"this curve{place}", one.a, one.k, one.d) for place, one in zip(places, ours, strict=False)]
    if rows and curve.table.get("kind", "exact") == "exact":
        rows += [
            (f"the thesis, {place}", one.a, one.k, one.d)
            for place, one in zip(("below", "above"), published(), strict=True)
        ]
    return rows


def _words_of(curve: Curve) -> str:
    return next(one.words for one in curve.tried if one.form == curve.form)


def curve_sentences(curve: Curve) -> list[str]:
    """The errors of the curve."""
    floor = (
        "one run a size, no noise floor"
        if curve.noise is None
        else f"runs of one size differ by {percent(curve.noise)}"
    )
    said = [f"held-out error: {percent(curve.mape)} on average, {percent(curve.most)} at most; {floor}"]
    if curve.thesis_mape is not None:
        said.append(f"forms of the thesis only: {percent(curve.thesis_mape)}{_better_between(curve)}")
    if curve.beyond:
        b = curve.beyond
        thesis = DASH if b.thesis_mape is None else percent(b.thesis_mape)
        said.append(
            f"extrapolation from {b.bound:g} entries: {percent(b.mape)} ({b.form}), {percent(b.most)} at most; "
            f"the thesis' form {thesis}"
        )
    if curve.contention:
        said.append(f"each further core adds {percent(curve.contention)} to the cost of a packet")
    return said


def _better_between(curve: Curve) -> str:
    """Which option takes a form of the thesis, if it has the lesser error: a form that knows the caches is taken before it."""
    forms = [one for one in curve.tried if one.thesis and one.mape is not None]
    if not forms or curve.thesis_mape is None or curve.mape is None or curve.thesis_mape >= curve.mape:
        return ""
    best = min(forms, key=lambda one: one.mape or 0.0)
    return f"; between the measured sizes take --form {quote(best.form)}"


def _tried(curve: Curve) -> Fitting:
    return Fitting(
        [
            Column("form", [("* " if one.form == curve.form else "  ") + one.form for one in curve.tried], words=True),
            Column("held out", [percent(one.mape) for one in curve.tried]),
            Column("at most", [percent(one.most) for one in curve.tried], spare=1),
            Column("larger sizes", [percent(one.onwards) for one in curve.tried]),
            Column("", [one.why or ("thesis" if one.thesis else "") for one in curve.tried], words=True, spare=2),
        ]
    )


def _steps(model: ModelRecord) -> Fitting:
    return Fitting(
        [
            Column("step", [step.name for step in model.steps], words=True),
            Column("ns", [number(step.ns) for step in model.steps]),
            Column("95% of runs from", [number(step.low) for step in model.steps]),
            Column("to", [number(step.high) for step in model.steps]),
        ]
    )


def _latency(curve: LatencyCurve) -> list[RenderableType]:
    words = next(one.words for one in curve.tried if one.form == curve.form)
    head = Text.assemble((settings_words(curve.settings), "bold"), f"  {curve.form}: {words}")
    names = list(curve.coefficients)
    table = Fitting(
        [
            Column("percentile", names, words=True),
            Column("a", [duration(curve.coefficients[name][0]) for name in names]),
            Column("b", [duration(curve.coefficients[name][1]) for name in names]),
            Column("held out", [percent(curve.mape[name]) for name in names]),
            Column("at most", [percent(curve.most[name]) for name in names]),
            Column("between runs", [percent(curve.noise[name]) for name in names], spare=1),
        ]
    )
    return [head, Text(capacity_words(curve)), table]


def capacity_words(curve: LatencyCurve) -> str:
    """The capacity and its interval, or that the loads do not identify it."""
    if curve.capacity_identified:
        return f"capacity {rate(curve.capacity)} ({rate(curve.capacity_low)} to {rate(curve.capacity_high)})"
    above = f": any above {rate(curve.capacity_low)} fits" if curve.capacity_low else ""
    return f"capacity not identified: the loads end at {rate(curve.points[-1].load)}{above}"


def prediction_view(said: Prediction) -> Group:
    """What `windtunnel model predict` prints."""
    lines = [Text.assemble((mark, "bold red" if mark.startswith("EXTRAPOLATED") else "yellow")) for mark in said.marks]
    cost = f"{number(said.ns)} ns per packet  ({number(said.low)} to {number(said.high)})"
    of = f"{said.cores} core{'' if said.cores == 1 else 's'}"
    if said.of == "table":
        return Group(*lines, Text(f"the table's step: {cost}, {of}"), _state(said.state))
    mpps = f"{number(said.mpps, 3)} Mpps  ({number(said.mpps_low, 3)} to {number(said.mpps_high, 3)})"
    return Group(*lines, Text(f"{cost}, {of}"), Text(mpps), _state(said.state))


def _state(state: str | None) -> Text:
    return Text(state_words(state), style="dim")


def validation_view(checked: Checked) -> Group:
    """What `windtunnel model validate` prints."""
    parts: list[RenderableType] = []
    curves = [(model, curve) for _, model in checked.models for curve in model.curves]
    if curves:
        parts += [Text("tables, errors at held-out sizes", style="bold"), _checked_curves(curves), Text()]
    latency = [(model, curve) for _, model in checked.models for curve in model.latency]
    if latency:
        parts += [Text("latency, errors at held-out loads", style="bold"), _checked_latency(latency), Text()]
    for path, rows in checked.pipelines:
        parts.append(Text(f"{path.name}: pipelines that no model was fitted to", style="bold"))
        parts += [_checked_pipelines(rows), Text(_pipeline_words(rows)), Text()]
    return Group(*parts)


def _checked_curves(curves: Sequence[tuple[ModelRecord, Curve]]) -> Fitting:
    beyond = [curve.beyond for _, curve in curves]
    return Fitting(
        [
            Column("study", [model.title for model, _ in curves], words=True),
            Column("series", [settings_words(curve.settings) for _, curve in curves], words=True),
            Column("form", [curve.form for _, curve in curves], words=True),
            Column("held out", [percent(curve.mape) for _, curve in curves]),
            Column("at most", [percent(curve.most) for _, curve in curves], spare=1),
            Column("thesis", [percent(curve.thesis_mape) for _, curve in curves]),
            Column("beyond", [percent(b.mape if b else None) for b in beyond]),
            Column("thesis", [percent(b.thesis_mape if b else None) for b in beyond]),
            Column("from", [f"{b.bound:g}" if b else DASH for b in beyond], spare=2),
            Column("noise", [percent(curve.noise) for _, curve in curves]),
        ]
    )


def _checked_latency(curves: Sequence[tuple[ModelRecord, LatencyCurve]]) -> Fitting:
    names = sorted({name for _, curve in curves for name in curve.mape}, key=len)
    return Fitting(
        [
            Column("study", [model.title for model, _ in curves], words=True),
            Column("series", [settings_words(curve.settings) for _, curve in curves], words=True),
            Column("form", [curve.form for _, curve in curves], words=True),
            *(Column(name, [percent(curve.mape.get(name)) for _, curve in curves]) for name in names),
            *(
                Column(f"noise {name}", [percent(curve.noise.get(name)) for _, curve in curves], spare=2)
                for name in names
            ),
        ]
    )


def _checked_pipelines(rows: Sequence[Any]) -> Fitting:
    return Fitting(
        [
            Column("point", [row.point for row in rows], words=True),
            Column("measured ns", [number(row.measured) for row in rows]),
            Column("predicted ns", [number(row.predicted) for row in rows]),
            Column("error", [percent(row.error) for row in rows]),
            Column("95% from", [number(row.low) for row in rows], spare=1),
            Column("to", [number(row.high) for row in rows], spare=1),
            Column("noise", [percent(row.noise) for row in rows], spare=2),
        ]
    )


def _pipeline_words(rows: Sequence[Any]) -> str:
    errors = np.abs([row.error for row in rows])
    return f"{percent(errors.mean())} on average, {percent(errors.max())} at most" if len(rows) else "no point was run"


def said_view(said: Said | Latency) -> Group:
    """What `windtunnel model predict` was told."""
    return prediction_view(said.prediction) if isinstance(said, Said) else latency_view(said)


def latency_view(said: Latency) -> Group:
    names = list(said.ns)
    table = Fitting(
        [
            Column("percentile", names, words=True),
            Column("latency", [duration(said.ns[name]) for name in names]),
            Column("mean error", [percent(said.errors[name]) for name in names]),
        ]
    )
    part = "capacity not identified" if said.utilisation is None else f"{percent(said.utilisation)} of the capacity"
    head = Text(f"at {rate(said.load)}, {part}")
    return Group(*(Text(mark, style="yellow") for mark in said.marks), head, table, _state(said.state))


def capacity_view(found: Capacity) -> Group:
    """The rate with the change, and what it rests on."""
    change = found.per_s / found.run_per_s - 1 if found.run_per_s else 0.0
    within = "too few windows for an interval" if found.low is None else f"{rate(found.low)} to {rate(found.high)}"
    lines = [
        Text(
            f"predicted: {rate(found.per_s)} responses, {within}; the run had {rate(found.run_per_s)}, so {change:+.1%}",
            style="bold",
        ),
        Text(f"limit: {found.limit}"),
        *(Text(f"not on the host of the run: {words}", style="yellow") for words in found.not_here),
        *(Text(f"assumed: {words}", style="dim") for words in found.assumptions),
    ]
    return Group(*lines)
