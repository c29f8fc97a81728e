"""A fitted model as a document: each curve with its forms and errors, and what the model rests on."""

from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Any

from windtunnel.format import DASH, duration, number, percent, rate, size
from windtunnel.parts.models import charts
from windtunnel.parts.models.model_record import Curve, LatencyCurve, ModelRecord, Tried
from windtunnel.parts.models.thesis import coefficients, published
from windtunnel.results.document import Block, Chart, Column, Document, Marked, Section, Sentence, Table, columns_of
from windtunnel.results.host import host_section

_RESPONSES = {"table": "ns per packet of the table's step", "pipeline": "ns per packet of the whole server"}


def model_document(model: ModelRecord, files: Sequence[tuple[str, str]] = ()) -> Document:
    """The model with all of its curves."""
    return Document(
        kind="model",
        title=model.title,
        question=model.question or None,
        at=model.fitted,
        how=[
            f"{model.provenance.runs} runs",
            model.response,
            f"over {model.axis}",
            *([f"memory {model.memory}"] if model.memory else []),
        ],
        notes=notes(model),
        blocks=[
            *(_cost_section(model, curve) for curve in model.curves),
            *(_latency_section(curve) for curve in model.latency),
            *_step_section(model),
            host_section(model.host, model.versions, [("Study", model.provenance.study)]),
        ],
        files=files,
        made_from="Forms and their limits: the page “How a model is fitted, and its errors” of the documentation.",
    )


def notes(model: ModelRecord) -> list[str]:
    """Sentences about the whole: what is modelled, from what, on which host."""
    cpu = (model.host.get("cpus") or {}).get("model")
    sentences = [
        f"{_RESPONSES.get(model.response, model.response)}; {model.provenance.runs} runs of {model.provenance.study}",
        f"host {model.host.get('hostname')}, {cpu}, {model.memory or 'several memory modes'}",
        state_words(model.state),
        *(f"rests on {doubt}" for doubt in model.provenance.doubts),
        *model.provenance.left_out,
    ]
    if model.neighbour:
        sentences.append(
            f"another hardware thread had a part of the core: costs are brought to {model.neighbour.ticks:.0f} wide ticks, with the power "
            f"{model.neighbour.exponent:.2f}"
        )
    if model.kind == "cost" and model.ladder is None:
        sentences.append("no ladder of this host: forms that model caches were not tried")
    if outgrown := outgrown_l2(model):
        sentences.append(outgrown)
    return sentences


def state_words(state: str | None) -> str:
    """As in "host state one-l3: bands hold only in this state"."""
    return f"host state {state}: bands hold only in this state" if state else "host state not known"


def outgrown_l2(model: ModelRecord) -> str | None:
    """That the model cannot know of the L3, if a table outgrows the L2; None if none does, or the caches are not known."""
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


def _cost_section(model: ModelRecord, curve: Curve) -> Section:
    thesis = thesis_rows(curve)
    blocks: list[Block] = [
        _form_sentence(curve),
        *map(Sentence, curve_sentences(curve)),
        Chart(
            charts.cost(model, curve),
            about="Points: runs; line: the fitted form; band: 95%, of the parameters and of the held-out errors; beyond the sizes that were run "
            f"it is dotted. {charts.thesis_words(curve)}",
        ),
        *_throughput(model, curve),
        Chart(
            charts.residuals(curve),
            about="Predicted over measured at each size, by the form that was chosen and fitted without it. The grey band is the noise between "
            "runs.",
        ),
        _parameter_table(curve),
        *([_thesis_table(thesis)] if thesis else []),
        _tried_table(curve.form, curve.tried),
    ]
    return Section(settings_words(curve.settings), blocks, terminal="titled")


def _throughput(model: ModelRecord, curve: Curve) -> list[Block]:
    chart = charts.throughput(model, curve)
    return [Chart(chart, about=charts.throughput_words(curve))] if chart else []


def _form_sentence(curve: Curve | LatencyCurve) -> Sentence:
    about = next(one.words for one in curve.tried if one.form == curve.form)
    return Sentence(Marked(curve.form, strong=True), f": {about}")


def _parameter_table(curve: Curve) -> Table:
    column = columns_of(curve.parameters)
    return Table(
        [
            column("parameter", lambda p: p.name, words=True),
            column("value", lambda p: f"{p.value:.5g}"),
            column("95% from", lambda p: DASH if p.low is None else f"{p.low:.5g}"),
            column("to", lambda p: DASH if p.high is None else f"{p.high:.5g}"),
        ]
    )


def thesis_rows(curve: Curve) -> list[tuple[str, float, float, float]]:
    """A, K and D of T = A/(n + K) + D with whose they are: this curve's, then the thesis' if it published them (for its exact table); empty
    for any other form."""
    ours = coefficients(curve.form, [parameter.value for parameter in curve.parameters])
    places = ("", "") if len(ours) < 2 else (", below", ", above")
    rows = [(f"this curve{place}", one.a, one.k, one.d) for place, one in zip(places, ours, strict=False)]
    if rows and curve.table.get("kind", "exact") == "exact":
        rows += [
            (f"the thesis, {place}", one.a, one.k, one.d)
            for place, one in zip(("below", "above"), published(), strict=True)
        ]
    return rows


def _thesis_table(rows: Sequence[tuple[str, float, float, float]]) -> Table:
    column = columns_of(rows)
    return Table(
        [
            column("T = A/(n + K) + D", lambda row: row[0], words=True),
            *(column(name, lambda row, n=n: f"{row[n]:.5g}") for n, name in enumerate(("A, Mpps", "K", "D, Mpps"), 1)),
        ]
    )


def curve_sentences(curve: Curve) -> list[str]:
    """The errors of the curve."""
    floor = (
        "one run a size, no noise floor"
        if curve.noise is None
        else f"runs of one size differ by {percent(curve.noise)}"
    )
    sentences = [f"held-out error: {percent(curve.mape)} on average, {percent(curve.most)} at most; {floor}"]
    if curve.thesis_mape is not None:
        sentences.append(f"forms of the thesis only: {percent(curve.thesis_mape)}{_better_between(curve)}")
    if curve.beyond:
        b = curve.beyond
        thesis = DASH if b.thesis_mape is None else percent(b.thesis_mape)
        sentences.append(
            f"extrapolation from {b.bound:g} entries: {percent(b.mape)} ({b.form}), {percent(b.most)} at most; "
            f"the thesis' form {thesis}"
        )
    if curve.contention:
        sentences.append(f"each further core adds {percent(curve.contention)} to the cost of a packet")
    return sentences


def _better_between(curve: Curve) -> str:
    """Which option takes a form of the thesis, if it has the smaller error: a form that knows the caches is taken before it."""
    forms = [one for one in curve.tried if one.thesis and one.mape is not None]
    if not forms or curve.thesis_mape is None or curve.mape is None or curve.thesis_mape >= curve.mape:
        return ""
    best = min(forms, key=lambda one: one.mape or 0.0)
    return f"; between the measured sizes take --form {quote(best.form)}"


def _tried_table(chosen: str, tried: Sequence[Tried]) -> Table:
    """Every form, with a mark at the one that was chosen."""
    column = columns_of(tried)
    larger = column("larger sizes", lambda one: percent(one.onwards))
    note = column("", lambda one: one.why or ("of the thesis" if one.thesis else ""), words=True, spare=2)
    return Table(
        [
            column("form", lambda one: f"{'* ' if one.form == chosen else '  '}{one.form}", words=True),
            column("held out", lambda one: percent(one.mape)),
            column("at most", lambda one: percent(one.most), spare=1),
            *([larger] if any(one.onwards is not None for one in tried) else []),
            *([note] if any(note.cells) else []),
            column("formula", lambda one: one.words, words=True, spare=3),
        ]
    )


def _latency_section(curve: LatencyCurve) -> Section:
    column = columns_of(list(curve.coefficients))
    table = Table(
        [
            column("percentile", str, words=True),
            column("a", lambda name: duration(curve.coefficients[name][0])),
            column("b", lambda name: duration(curve.coefficients[name][1])),
            column("held out", lambda name: percent(curve.mape[name])),
            column("at most", lambda name: percent(curve.most[name])),
            column("between runs", lambda name: percent(curve.noise[name]), spare=1),
        ]
    )
    blocks: list[Block] = [
        _form_sentence(curve),
        Sentence(capacity_words(curve)),
        Chart(
            charts.latency(curve),
            about="Points: medians of the runs at a load; lines: the fitted form. p99.9 is shown without a verdict, because the host dominates "
            "it on a shared machine.",
        ),
        Chart(
            charts.latency_residuals(curve),
            about="Predicted over measured at each load, by the form that was chosen and fitted without it.",
        ),
        table,
        _tried_table(curve.form, curve.tried),
    ]
    return Section(settings_words(curve.settings), blocks, terminal="titled")


def capacity_words(curve: LatencyCurve) -> str:
    """The capacity and its interval, or that the loads do not identify it."""
    if curve.capacity_identified:
        return f"capacity {rate(curve.capacity)} ({rate(curve.capacity_low)} to {rate(curve.capacity_high)})"
    above = f": any above {rate(curve.capacity_low)} fits" if curve.capacity_low else ""
    return f"capacity not identified: the loads end at {rate(curve.points[-1].load)}{above}"


def _step_section(model: ModelRecord) -> Iterator[Section]:
    if not model.steps:
        return
    column = columns_of(model.steps)
    columns: list[Column] = [
        column("step", lambda step: step.name, words=True),
        column("ns per packet", lambda step: number(step.ns)),
        column("95% of runs from", lambda step: number(step.low)),
        column("to", lambda step: number(step.high)),
    ]
    yield Section("The pipeline outside its tables", [Table(columns)], terminal="titled")
