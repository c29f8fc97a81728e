"""The requests of `windtunnel model predict`: its arguments become predictions."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from windtunnel.errors import UserError
from windtunnel.format import rate
from windtunnel.host import facts
from windtunnel.parts.models.latency import fitted_of
from windtunnel.parts.models.model_record import ModelRecord, read
from windtunnel.parts.models.pipeline import predict_pipeline
from windtunnel.parts.models.predict import FURTHEST, Prediction, predict, quality_marks, select
from windtunnel.parts.models.same_host import refuse_other_host
from windtunnel.parts.tables.planned_tables import tables_of
from windtunnel.scenario.quantities import option

MOST_ENTRIES = "1000G"
"""A number of entries that no table reaches."""


@dataclass(frozen=True)
class CostPrediction:
    """A prediction of a cost."""

    prediction: Prediction

    def document(self) -> dict[str, Any]:
        prediction = self.prediction
        rates = (
            {}
            if prediction.of == "table"
            else {"mpps": prediction.mpps, "mpps_low": prediction.mpps_low, "mpps_high": prediction.mpps_high}
        )
        return asdict(prediction) | rates


@dataclass(frozen=True)
class Latency:
    """Percentiles at a load, ns, each with the mean held-out error of its form."""

    load: float
    utilisation: float | None
    """Load as a share of the capacity; None if the capacity is not identified."""
    ns: dict[str, float]
    errors: dict[str, float]
    marks: list[str]
    state: str | None
    """Host state that the model was fitted in; None: not known."""

    def document(self) -> dict[str, Any]:
        return asdict(self)


def read_models(files: Sequence[Path], allow_other_host: bool) -> list[ModelRecord]:
    """The models in these files. Raises UserError if one was measured on another host, unless `allow_other_host`."""
    models = [read(file) for file in files]
    if not allow_other_host:
        this_host = to_jsonable_python(facts.collect())
        for file, model in zip(files, models, strict=True):
            refuse_other_host(model, this_host, str(file))
    return models


def ask_table(
    model: ModelRecord, entries: str, cores: int, sets: Sequence[str], extrapolate: bool, zipf: float
) -> CostPrediction:
    if model.kind != "cost":
        raise UserError("this is a latency model, and --entries needs a cost model", remedy="use --rate RATE")
    return CostPrediction(predict(model, count("--entries", entries), cores, sets, extrapolate, zipf))


def ask_pipeline(
    models: Sequence[ModelRecord], file: Path, sets: Sequence[str], cores: int, extrapolate: bool
) -> CostPrediction:
    from windtunnel.scenario import here, load, resolve
    from windtunnel.scenario.plugins import code_not_opened

    with code_not_opened():
        plans = resolve(load(file, list(sets)), here()).plans
    tables = [(table, float(table["rules"])) for tables in tables_of(plans) for table in tables]
    if unknown := [table["name"] for table, entries in tables if not entries]:
        raise UserError(
            f"{file}: table {unknown[0]} has its rules from a file, so its size is not known before a run",
            remedy="use entries = N instead of rules",
        )
    return CostPrediction(predict_pipeline(models, tables, cores, extrapolate))


def ask_latency(model: ModelRecord, load: str, sets: Sequence[str], extrapolate: bool) -> Latency:
    """The latency at a load. Raises UserError at the capacity and above, and for loads far below those that were run."""
    if model.kind != "latency":
        raise UserError("this is a cost model, and --rate needs a latency model", remedy="use --entries N")
    at = float(option("--rate", "rate", load, "0pps", "1000Mpps"))
    curve = select(model.latency, sets)
    low, high = curve.points[0].load, curve.points[-1].load
    if at > high and not curve.capacity_identified and not extrapolate:
        raise UserError(
            f"{rate(at)} is above {rate(high)}, the highest load that was run, and these loads do not identify the capacity",
            remedy="run higher loads, or predict this one with --extrapolate",
        )
    if at >= curve.capacity:
        raise UserError(
            f"{rate(at)} is not below the capacity, {rate(curve.capacity)}: the queue would grow without limit",
            remedy="a lower --rate",
        )
    if at < low / FURTHEST and not extrapolate:
        raise UserError(
            f"{rate(at)} is more than {FURTHEST:g} times below {rate(low)}, the lowest load that was run",
            remedy="run this load, or predict it with --extrapolate",
        )
    fitted = fitted_of(curve)
    marks = quality_marks(model)
    marks += [] if low <= at <= high else [f"outside the loads that were run, {rate(low)} to {rate(high)}"]
    ns = {name: fitted.at(at, name) for name in fitted.coefficients}
    utilisation = at / curve.capacity if curve.capacity_identified else None
    return Latency(at, utilisation, ns, curve.mape, marks, model.state)


def count(name: str, text: str) -> float:
    """A number of entries as scenarios write it, above 0. Raises UserError."""
    return float(option(name, "count", text, "1", MOST_ENTRIES))
