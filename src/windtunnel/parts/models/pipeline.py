"""A pipeline of several tables, from models of one table each: parser, deparser and all other steps, and the sum of the tables.

Nothing is fitted here. Tables of one pipeline share the caches. Che's approximation gives each table's part of them, and the
curve's form `cache` (also if another form was chosen) gives the additional cost.
"""

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from windtunnel.errors import UserError
from windtunnel.parts.models.arrays import Floats
from windtunnel.parts.models.measured_runs import Parts
from windtunnel.parts.models.model_record import Curve, ModelRecord, Neighbour, Step
from windtunnel.parts.models.points import World, world_of
from windtunnel.parts.models.popularity import shared_misses
from windtunnel.parts.models.predict import (
    SAMPLES,
    Prediction,
    band,
    bytes_at,
    curve_ns,
    curve_samples,
    quality_marks,
    range_marks,
)
from windtunnel.parts.models.table_settings import differences, own_settings
from windtunnel.parts.tables.planned_tables import Table


def sized(parts: Parts) -> list[tuple[Table, float]]:
    """The tables of a run, each with its entries."""
    return [(table, parts.entries_of(table)) for tables in parts.tables for table in tables]


def predict_pipeline(
    models: Sequence[ModelRecord], tables: Sequence[tuple[Table, float]], cores: int = 1, extrapolate: bool = False
) -> Prediction:
    """The cost of a pipeline. `tables`: those of the plan, each with its entries, at least one. Raises UserError if no model was fitted to such a table,
    or no model timed the steps outside the tables."""
    if not tables:
        raise UserError(
            "the scenario has no tables", remedy='add [[workload.table]], see the page "Match-action tables"'
        )
    models_and_curves = [_curve_like(models, table) for table, _ in tables]
    speed = speed_of(models)
    marks: list[str] = []
    rng = np.random.default_rng(1)
    total, samples = 0.0, np.zeros(SAMPLES)
    shares = _shares(models_and_curves, [entries for _, entries in tables])
    for (model, curve), (table, entries), share in zip(models_and_curves, tables, shares, strict=True):
        world = world_of(model.ladder)
        of_table = quality_marks(model) + range_marks(curve, entries, extrapolate)
        marks += [f"table {table['name']}: {mark}" for mark in of_table]
        scale = share * _scale(model, speed)
        total += scale * curve_ns(curve, entries, world)
        samples += scale * curve_samples(curve, entries, world, rng)
    for step, scale in _other_steps(models, [model for model, _ in models_and_curves], speed):
        total += scale * step.ns
        samples += scale * (rng.triangular(step.low, step.ns, step.high, SAMPLES) if step.high > step.low else step.ns)
    contention = max(curve.contention for _, curve in models_and_curves)
    more = 1 + contention * (cores - 1)
    low, high = band(samples * more)
    states = {model.state for model, _ in models_and_curves}
    if len(states) > 1:
        marks.append(
            f"the models belong to several host states: {', '.join(sorted(state or 'not known' for state in states))}"
        )
    return Prediction(total * more, low, high, cores, "pipeline", states.pop() if len(states) == 1 else None, marks)


def _curve_like(models: Sequence[ModelRecord], table: Table) -> tuple[ModelRecord, Curve]:
    """The curve that was fitted to a table of the same settings."""
    wanted = own_settings(table)
    curves = [(model, curve) for model in models for curve in model.curves if model.response == "table" and curve.table]
    for model, curve in curves:
        if not differences(curve.table, wanted):
            return model, curve
    nearest = min((differences(curve.table, wanted) for _, curve in curves), key=len, default=None)
    missing = f"; the nearest differs in {', '.join(nearest)}" if nearest else ""
    raise UserError(
        f"no model was fitted to a table like {table['name']} ({table['kind']}, {table['method']}){missing}",
        remedy="fit a study of such a table over its entries, and name this model too",
    )


def speed_of(models: Sequence[ModelRecord]) -> Neighbour | None:
    """The speed of a core at which a pipeline's parts are added: that of the least busy neighbour of the models, with the mean of
    their exponents. None if no model was corrected."""
    known = [model.neighbour for model in models if model.neighbour]
    if not known:
        return None
    return Neighbour(
        exponent=fmean(neighbour.exponent for neighbour in known), ticks=min(neighbour.ticks for neighbour in known)
    )


def _scale(model: ModelRecord, speed: Neighbour | None) -> float:
    """Converts this model's costs to that speed; 1 for a model that was not corrected."""
    if model.neighbour is None or speed is None:
        return 1.0
    factor: float = (speed.ticks / model.neighbour.ticks) ** model.neighbour.exponent
    return factor


def _other_steps(
    models: Sequence[ModelRecord], of_tables: Sequence[ModelRecord], speed: Neighbour | None
) -> list[tuple[Step, float]]:
    """Cost of a packet outside tables, each step once, with its scale: a pipeline parses and deparses once. The cost of a step
    depends on the tables' actions (a rewrite computes the checksum again), so the most expensive measurement of each step
    counts. Models of these tables come first; another model counts only if they timed nothing."""
    timed = [model for model in of_tables if model.steps] or [model for model in models if model.steps][:1]
    if not timed:
        raise UserError(
            "no model timed the steps outside the tables",
            remedy="fit a study that ran with accounting sampled or cycles",
        )
    steps = [(step, _scale(model, speed)) for model in timed for step in model.steps]
    costliest: dict[str, tuple[Step, float]] = {}
    for step, scale in steps:
        if step.name not in costliest or scale * step.ns > costliest[step.name][1] * costliest[step.name][0].ns:
            costliest[step.name] = step, scale
    return list(costliest.values())


def _shares(models_and_curves: Sequence[tuple[ModelRecord, Curve]], entries: Sequence[float]) -> list[float]:
    """Factor by which each table costs more because others use the caches too; 1 for a curve without caches."""
    shares = [1.0] * len(models_and_curves)
    cached = [
        (n, model, curve.caches) for n, (model, curve) in enumerate(models_and_curves) if curve.caches is not None
    ]
    if len(cached) < 2:
        return shares
    bytes_ = np.concatenate([bytes_at(models_and_curves[n][1], np.array([entries[n]])) for n, _, _ in cached])
    for place, (n, model, caches) in enumerate(cached):
        shares[n] = _crowded(caches, world_of(model.ladder), bytes_, place)
    return shares


def _crowded(caches: Sequence[float], world: World, bytes_: Floats, place: int) -> float:
    last, t0, *levels = caches
    alone = crowded = t0
    for step, cost in zip([*world.steps, last], levels, strict=True):
        alone += cost * bytes_[place] / (bytes_[place] + step)
        crowded += cost * float(shared_misses(bytes_, np.full(len(bytes_), step))[place])
    return crowded / alone
