"""Compares measured pipelines of several tables with predictions from models of one table each. Nothing is fitted to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from windtunnel.measure.study import query, record
from windtunnel.parts.models.measured_runs import Parts, parts_of
from windtunnel.parts.models.model_record import ModelRecord
from windtunnel.parts.models.neighbour import corrected
from windtunnel.parts.models.pipeline import predict_pipeline, sized, speed_of
from windtunnel.parts.models.states import of_one_state


@dataclass(frozen=True)
class Composed:
    """One point of a study whose scenario has several tables; ns per packet."""

    point: str
    measured: float
    predicted: float
    low: float
    high: float
    noise: float | None

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1


def is_composed(path: Path) -> bool:
    """Whether the runs of this study have several tables. Raises UserError for a directory that is not a study with results."""
    parts = next((parts for _, parts in _runs(path)), None)
    return parts is not None and len(parts.table_names()) > 1


def judge(path: Path, models: Sequence[ModelRecord]) -> list[Composed]:
    """Every measured point, in order, corrected to the core speed at which the models are added. Raises UserError if the models
    cannot predict one."""
    kept = record.read(path / record.NAME)
    by_point: dict[int, list[tuple[float, Parts]]] = {}
    for point, parts in _runs(path):
        if parts.pipeline_ns is not None:
            by_point.setdefault(point, []).append((parts.pipeline_ns, parts))
    rows: list[Composed] = []
    speed = speed_of(models)
    for point, runs in sorted(by_point.items()):
        measured = [corrected(ns, parts.wide_ticks, speed) for ns, parts in runs]
        prediction = predict_pipeline(models, sized(runs[0][1]), extrapolate=True)
        middle = float(np.median(measured))
        noise = float(np.mean(np.abs(np.array(measured) / middle - 1))) if len(measured) > 1 else None
        rows.append(Composed(kept.point(point).name, middle, prediction.ns, prediction.low, prediction.high, noise))
    return rows


def _runs(path: Path) -> list[tuple[int, Parts]]:
    """Point and parts of every valid run of one host state whose directory exists."""
    kept = record.read(path / record.NAME)
    rows = of_one_state(path, [row for row in query.all_rows(path, kept) if row["valid"]]).rows
    points = [row["point"] for row in rows]
    parts_by_point = zip(points, parts_of([path / row["directory"] for row in rows], points), strict=True)
    return [(point, parts) for point, parts in parts_by_point if parts and parts.windows]
