"""A study over loads becomes a latency model: one curve of percentiles a series."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from windtunnel.errors import UserError, as_argument
from windtunnel.measure.study import query, record
from windtunnel.parts.models.fit import memory_of, provenance
from windtunnel.parts.models.model_record import NO_MODEL, LatencyCurve, LatencyPoint, ModelRecord, Tried, in_words
from windtunnel.parts.models.observe import RATE, axis_of, doubts, number_of, usable
from windtunnel.parts.models.points import NoFit
from windtunnel.parts.models.queueing import (
    JUDGED,
    LEAST_LOADS,
    PERCENTILES,
    QUEUES,
    Fitted,
    Loads,
    TriedQueue,
    best_queue,
    capacity_interval,
    errors_of_the_choice,
    tried_queues,
)
from windtunnel.parts.models.states import of_one_state
from windtunnel.version import __version__

HELP = "more loads between 10% and 90% of the capacity, or more repeats"
Row = dict[str, Any]


def fit_latency(path: Path, include_invalid: bool = False) -> ModelRecord:
    """The model of a study whose axis is an offered rate; `include_invalid`: from rejected metrics too. Raises UserError if its
    data do not suffice, or give a model with numbers that no model may have."""
    with in_words(path, NO_MODEL):
        return _fitted(path, include_invalid)


def _fitted(path: Path, include_invalid: bool) -> ModelRecord:
    kept = record.read(path / record.NAME)
    factor_and_key = axis_of(kept, RATE)
    if factor_and_key is None:
        raise UserError(f"{path}: no factor changes a rate", remedy="a study with a factor whose key is client.rate")
    factor, axis = factor_and_key
    rows = query.all_rows(path, kept)
    used, sentences = usable(rows, include_invalid)
    timed = [row for row in used if all(row[name] for name in JUDGED)]
    if len(timed) < len(used):
        sentences.append(f"{len(used) - len(timed)} runs not used: without latencies")
    of_state = of_one_state(path, timed)
    sentences += of_state.left_out
    good = [row | {factor.name: number_of(row[factor.name], "rate")} for row in of_state.rows]
    others = [other for other in kept.factors if other is not factor]
    groups: dict[tuple[tuple[str, Any], ...], list[Row]] = {}
    for row in good:
        settings = {other.keys[0]: kept.point(row["point"]).cells[other.name] for other in others}
        groups.setdefault((*settings.items(), ("workload", row["workload"])), []).append(row)
    if not groups:
        raise UserError(
            f"{path}: no valid run with latencies", remedy=f"windtunnel study {as_argument(path)} runs what is missing"
        )
    return ModelRecord(
        kind="latency",
        title=kept.title,
        question=kept.question,
        fitted=datetime.now(UTC),
        axis=axis,
        response="latency",
        provenance=provenance(path, kept, len(good), sentences, doubts(timed)),
        host=kept.host,
        memory=memory_of(kept),
        versions=kept.versions | {"fitted by": __version__},
        ladder=None,
        state=of_state.state,
        neighbour=None,
        curves=[],
        steps=[],
        latency=[_curve(dict(settings), runs, factor.name) for settings, runs in groups.items()],
    )


def _curve(settings: dict[str, Any], rows: list[Row], column: str) -> LatencyCurve:
    loads = _loads(rows, column)
    if len(loads) < LEAST_LOADS:
        raise UserError(
            f"{len(loads)} loads: held-out errors need {LEAST_LOADS} or more",
            remedy=HELP,
        )
    tried = tried_queues(loads)
    try:
        best = best_queue(tried)
    except NoFit as no:
        raise UserError(f"no form fits: {no}", remedy=HELP) from None
    try:
        errors = errors_of_the_choice(loads)
    except NoFit:
        errors = best.errors
    low, high = capacity_interval(best.fitted.queue, loads)
    return LatencyCurve(
        settings=settings,
        form=best.fitted.queue.name,
        capacity=best.fitted.capacity,
        capacity_low=low,
        capacity_high=high,
        coefficients={name: list(pair) for name, pair in best.fitted.coefficients.items()},
        mape={name: float(np.mean(np.abs(e))) for name, e in errors.items()},
        most={name: float(np.max(np.abs(e))) for name, e in errors.items()},
        noise={name: _noise(rows, column, name) for name in loads.ns},
        points=_points(loads, errors),
        tried=[_tried_row(candidate) for candidate in tried],
    )


def fitted_of(curve: LatencyCurve) -> Fitted:
    """The curve as a form that predicts a latency at a load."""
    queue = next(queue for queue in QUEUES if queue.name == curve.form)
    return Fitted(queue, curve.capacity, {name: (a, b) for name, (a, b) in curve.coefficients.items()})


def _loads(rows: Sequence[Row], column: str) -> Loads:
    """Medians of the runs at each offered load, of the percentiles that every run has."""
    names = [name for name in PERCENTILES if all(row[name] for row in rows)]
    loads = sorted({float(row[column]) for row in rows})
    rows_by_load = {load: [row for row in rows if float(row[column]) == load] for load in loads}
    medians = {
        name: np.array([np.median([row[name] for row in rows_by_load[load]]) for load in loads]) for name in names
    }
    return Loads(np.array(loads), medians)


def _noise(rows: Sequence[Row], column: str, name: str) -> float | None:
    deviations = []
    for load in {row[column] for row in rows}:
        ns = [row[name] for row in rows if row[column] == load]
        deviations += [abs(np.median(ns[:i] + ns[i + 1 :]) / run_ns - 1) for i, run_ns in enumerate(ns) if len(ns) > 1]
    return float(np.mean(deviations)) if deviations else None


def _points(loads: Loads, errors: dict[str, list[float]]) -> list[LatencyPoint]:
    return [
        LatencyPoint(
            load=float(load),
            ns={name: float(ns[n]) for name, ns in loads.ns.items()},
            held_out={name: float(ns[n] * (1 + errors[name][n])) for name, ns in loads.ns.items()},
        )
        for n, load in enumerate(loads.load)
    ]


def _tried_row(candidate: TriedQueue) -> Tried:
    errors = candidate.judged.errors if candidate.judged else {}
    judged = [abs(e) for name in JUDGED for e in errors.get(name, ())]
    return Tried(
        form=candidate.queue.name,
        words=candidate.queue.formula,
        thesis=False,
        mape=float(np.mean(judged)) if judged else None,
        most=max(judged, default=None),
        onwards=None,
        why=candidate.why,
    )
