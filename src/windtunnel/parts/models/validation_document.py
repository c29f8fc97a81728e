"""The errors of models at data that they were not fitted to, as a document."""

from collections.abc import Iterator, Sequence

import numpy as np

from windtunnel.format import DASH, number, percent
from windtunnel.parts.models.composed import Composed
from windtunnel.parts.models.fit_document import settings_words
from windtunnel.parts.models.model_record import Curve, LatencyCurve, ModelRecord
from windtunnel.parts.models.validate import Checked
from windtunnel.results.document import Document, Section, Sentence, Table, columns_of


def validation_document(checked: Checked) -> Document:
    """What `windtunnel model validate` shows."""
    return Document(kind="validation of models", title="Held-out errors of models", blocks=list(_sections(checked)))


def _sections(checked: Checked) -> Iterator[Section]:
    curves = [(model, curve) for _, model in checked.models for curve in model.curves]
    if curves:
        yield Section("tables, errors at held-out sizes", [_curve_table(curves)], terminal="titled")
    latency = [(model, curve) for _, model in checked.models for curve in model.latency]
    if latency:
        yield Section("latency, errors at held-out loads", [_latency_table(latency)], terminal="titled")
    for path, rows in checked.pipelines:
        title = f"{path.name}: pipelines that no model was fitted to"
        yield Section(title, [_pipeline_table(rows), Sentence(_pipeline_words(rows))], terminal="titled")


def _curve_table(curves: Sequence[tuple[ModelRecord, Curve]]) -> Table:
    column = columns_of(curves)
    return Table(
        [
            column("study", lambda row: row[0].title, words=True),
            column("series", lambda row: settings_words(row[1].settings), words=True),
            column("form", lambda row: row[1].form, words=True),
            column("held out", lambda row: percent(row[1].mape)),
            column("at most", lambda row: percent(row[1].most), spare=1),
            column("thesis", lambda row: percent(row[1].thesis_mape)),
            column("beyond", lambda row: percent(row[1].beyond.mape if row[1].beyond else None)),
            column("thesis beyond", lambda row: percent(row[1].beyond.thesis_mape if row[1].beyond else None)),
            column("from", lambda row: f"{row[1].beyond.bound:g}" if row[1].beyond else DASH, spare=2),
            column("noise", lambda row: percent(row[1].noise)),
        ]
    )


def _latency_table(curves: Sequence[tuple[ModelRecord, LatencyCurve]]) -> Table:
    names = sorted({name for _, curve in curves for name in curve.mape}, key=lambda name: (len(name), name))
    column = columns_of(curves)
    return Table(
        [
            column("study", lambda row: row[0].title, words=True),
            column("series", lambda row: settings_words(row[1].settings), words=True),
            column("form", lambda row: row[1].form, words=True),
            *(column(name, lambda row, name=name: percent(row[1].mape.get(name))) for name in names),
            *(
                column(f"noise {name}", lambda row, name=name: percent(row[1].noise.get(name)), spare=2)
                for name in names
            ),
        ]
    )


def _pipeline_table(rows: Sequence[Composed]) -> Table:
    column = columns_of(rows)
    return Table(
        [
            column("point", lambda row: row.point, words=True),
            column("measured ns", lambda row: number(row.measured)),
            column("predicted ns", lambda row: number(row.predicted)),
            column("error", lambda row: percent(row.error)),
            column("95% from", lambda row: number(row.low), spare=1),
            column("to", lambda row: number(row.high), spare=1),
            column("noise", lambda row: percent(row.noise), spare=2),
        ]
    )


def _pipeline_words(rows: Sequence[Composed]) -> str:
    errors = np.abs([row.error for row in rows])
    return f"{percent(errors.mean())} on average, {percent(errors.max())} at most" if len(rows) else "no point was run"
