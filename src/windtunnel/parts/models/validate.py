"""Held-out errors of the models of several studies, as docs/explanation/models.md shows them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from windtunnel.host.ladder import Ladder
from windtunnel.measure.study import record
from windtunnel.parts.models import composed
from windtunnel.parts.models.composed import Composed
from windtunnel.parts.models.curve import Options
from windtunnel.parts.models.fit import fit
from windtunnel.parts.models.latency import fit_latency
from windtunnel.parts.models.model_record import ModelRecord
from windtunnel.parts.models.observe import ENTRIES, RATE, axis_of

GOALS = {"leave one out": 0.05, "beyond": 0.12, "pipeline": 0.10, "latency": 0.20}
"""Goals: mean absolute errors, as shares; latency of p50, p90 and p99."""


@dataclass(frozen=True)
class Checked:
    """The models, and their predictions of pipelines."""

    models: list[tuple[Path, ModelRecord]]
    """Studies that a model was fitted to."""
    pipelines: list[tuple[Path, list[Composed]]]
    """Studies of several tables, with predictions of the others' models."""


def is_latency(path: Path) -> bool:
    """Whether the study changes a rate and no table."""
    kept = record.read(path / record.NAME)
    return axis_of(kept, ENTRIES) is None and axis_of(kept, RATE) is not None


def check(
    studies: Sequence[Path], ladder: Ladder | None, options: Options, bounds: Mapping[Path, float] | None = None
) -> Checked:
    """Fits studies of one table and over loads, and predicts those of several tables; `bounds`: of studies with a bound of their
    own. Raises UserError."""
    bounds = bounds or {}

    def fitted(path: Path) -> ModelRecord:
        if is_latency(path):
            return fit_latency(path)
        return fit(path, None, ladder, replace(options, bound=bounds.get(path, options.bound)))

    several = [path for path in studies if composed.is_composed(path)]
    models = [(path, fitted(path)) for path in studies if path not in several]
    known = [model for _, model in models if model.kind == "cost"]
    return Checked(models, [(path, composed.judge(path, known)) for path in several])
