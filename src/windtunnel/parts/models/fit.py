"""Fits a model to a study: one curve a series, the other steps of the pipeline, host, versions and the study's digest."""

import hashlib
import os
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from windtunnel.errors import UserError
from windtunnel.host.ladder import Ladder
from windtunnel.measure.study.directory import RESULTS
from windtunnel.measure.study.record import StudyRecord
from windtunnel.parts.models.curve import Options, fit_curve
from windtunnel.parts.models.measured_runs import Parts
from windtunnel.parts.models.model_record import NO_MODEL, ModelRecord, Provenance, Step, in_words
from windtunnel.parts.models.neighbour import corrected
from windtunnel.parts.models.observe import ObservedStudy, observe
from windtunnel.parts.models.points import world_of
from windtunnel.stats.bootstrap import middle_part
from windtunnel.text_file import open_regular
from windtunnel.version import __version__

OTHER = "stages"
"""Name of the pipeline's cost outside the handler's steps."""


def fit(
    path: Path,
    response: str | None = None,
    ladder: Ladder | None = None,
    options: Options | None = None,
    include_invalid: bool = False,
) -> ModelRecord:
    """The model of a study's tables; `include_invalid`: from the rejected metrics of its table too. Raises UserError if the data do
    not suffice, are not a study, or give a model with numbers that no model may have."""
    with in_words(path, NO_MODEL):
        return _fitted(path, response, ladder, options or Options(), include_invalid)


def _fitted(
    path: Path, response: str | None, ladder: Ladder | None, options: Options, include_invalid: bool
) -> ModelRecord:
    observed = observe(path, response, include_invalid)
    world = world_of(ladder)
    try:
        curves = [fit_curve(series, observed.axis, world, options) for series in observed.series]
    except UserError as error:
        raise UserError("; ".join((error.message, *observed.left_out)), error.remedy) from None
    runs = sum(len(series.runs) for series in observed.series)
    return ModelRecord(
        kind="cost",
        title=observed.record.title,
        question=observed.record.question,
        fitted=datetime.now(UTC),
        axis=observed.axis,
        response=observed.response,
        provenance=provenance(path, observed.record, runs, observed.left_out, observed.doubts),
        host=observed.record.host,
        memory=memory_of(observed.record),
        versions=observed.record.versions | {"fitted by": __version__},
        ladder=ladder,
        state=observed.state,
        neighbour=observed.neighbour,
        curves=curves,
        steps=other_steps(observed),
        latency=[],
    )


def provenance(path: Path, kept: StudyRecord, runs: int, left_out: list[str], doubts: list[str]) -> Provenance:
    try:
        with os.fdopen(open_regular(path / RESULTS, follow=False), "rb") as results:
            digest = hashlib.file_digest(results, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"{path / RESULTS}: cannot be read: {error.strerror}") from None
    return Provenance(
        study=str(path.absolute()),
        title=kept.title,
        started=kept.started,
        results_sha256=digest,
        runs=runs,
        left_out=left_out,
        doubts=doubts,
    )


def memory_of(kept: StudyRecord) -> str | None:
    """The memory mode that all points ran with."""
    modes = {point.memory for point in kept.points if point.memory}
    return modes.pop() if len(modes) == 1 else None


def other_steps(observed: ObservedStudy) -> list[Step]:
    """Cost of a packet outside tables: the handler's other steps, and the rest of the stages; medians over all runs."""
    spent: dict[str, list[float]] = {}
    for series in observed.series:
        for run in series.runs:
            if run.parts is None:
                continue
            for name, ns in _outside(run.parts).items():
                spent.setdefault(name, []).append(corrected(ns, run.parts.wide_ticks, observed.neighbour))
    return [_step(name, ns) for name, ns in spent.items()]


def _outside(parts: Parts) -> dict[str, float]:
    tables = parts.table_names()
    if not parts.steps or parts.pipeline_ns is None or not tables <= parts.steps.keys():
        return {}
    others = {name: ns for name, ns in parts.steps.items() if name not in tables}
    return others | {OTHER: max(parts.pipeline_ns - sum(parts.steps.values()), 0.0)}


def _step(name: str, ns: list[float]) -> Step:
    low, high = middle_part(ns)
    return Step(name=name, ns=float(np.median(ns)), low=float(low), high=float(high))
