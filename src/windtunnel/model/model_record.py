"""A fitted model as a file: its form, its held-out errors, and its provenance.

History of the record's version:
1  costs of tables by entries, latency by load
"""

from pathlib import Path
from typing import Any, Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from windtunnel.errors import UserError
from windtunnel.host.ladder import Ladder
from windtunnel.text_file import MOST_RECORD_BYTES, parse_json, read_regular

MODEL_VERSION: Final = 1


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Provenance(Part):
    """The study that a model was fitted to."""

    study: str = Field(description="absolute path of its directory when it was fitted")
    title: str
    started: AwareDatetime
    results_sha256: str
    runs: int = Field(description="valid ones")
    left_out: list[str] = Field(description="sentences: runs that were not used, and why")
    doubts: list[str] = Field([], description="invalid runs that were used, and validity limits that were relaxed")


class Parameter(Part):
    """95% interval by bootstrap; null: too few of its fits converged."""

    name: str
    value: float
    low: float | None
    high: float | None


class Sized(Part):
    """One size of the table."""

    entries: float
    bytes: float = Field(description="working set")
    ns: float = Field(description="median of the runs")
    runs: list[float]
    held_out: float | None = Field(
        description="prediction of the form that was chosen and fitted without this size, ns"
    )


class Tried(Part):
    """One form and its held-out errors, as shares. null: it could not be fitted or held out."""

    form: str
    words: str
    thesis: bool = Field(description="one of the thesis' forms")
    mape: float | None = Field(description="leave one out")
    most: float | None
    onwards: float | None = Field(description="mean absolute error at the next two sizes, from the smaller ones")
    why: str | None


class Beyond(Part):
    """Fitted up to a bound, predicts above it."""

    bound: float
    form: str
    mape: float
    most: float
    thesis_form: str | None
    thesis_mape: float | None = Field(description="of the best of the thesis' forms, chosen and fitted in the same way")


class Curve(Part):
    """Cost of a packet by a table's entries, with all other settings fixed."""

    settings: dict[str, Any] = Field(description="path of every other factor -> its cell")
    table: dict[str, Any] = Field(description="the table's own keys as resolved, its size left out; empty: not known")
    form: str
    parameters: list[Parameter]
    caches: list[float] | None = Field(
        description="parameters of the form `cache`, whichever form was chosen: for popular keys and shared caches; null: not fitted"
    )
    contention: float = Field(description="share by which a packet costs more for each core beyond the first")
    points: list[Sized]
    mape: float = Field(description="leave one out, the form chosen again each time")
    most: float
    noise: float | None = Field(description="mean absolute difference between runs of one size; null: one run each")
    thesis_mape: float | None = Field(description="mape of the thesis' forms only")
    beyond: Beyond | None
    tried: list[Tried]
    draws: list[list[float]] = Field(description="parameters of the bootstrap's fits, for bands")


class Neighbour(Part):
    """The correction of costs for another hardware thread on the same physical core."""

    exponent: float = Field(
        description="costs are proportional to this power of the workers' wide_ticks, by runs of the same size"
    )
    ticks: float = Field(description="wide_ticks to which all costs are corrected: the median of the runs")


class Step(Part):
    """A part of the pipeline outside the tables: its median cost over all runs, ns per packet."""

    name: str
    ns: float
    low: float
    high: float


class LatencyPoint(Part):
    """One load: the medians of its runs."""

    load: float = Field(description="messages per second")
    ns: dict[str, float] = Field(description="percentile -> latency")
    held_out: dict[str, float | None]


class LatencyCurve(Part):
    """Latency percentiles against load."""

    settings: dict[str, Any]
    form: str
    capacity: float = Field(description="messages per second from which the queue grows without limit")
    capacity_low: float | None = Field(description="95% by the profile likelihood; null: not bounded")
    capacity_high: float | None = Field(
        description="null: the loads that were run do not bound the capacity from above: it is not identified"
    )
    coefficients: dict[str, list[float]] = Field(description="percentile -> coefficients of the form")
    mape: dict[str, float] = Field(description="percentile -> leave one out, a share")
    most: dict[str, float]
    noise: dict[str, float | None]
    points: list[LatencyPoint]
    tried: list[Tried]

    @property
    def capacity_identified(self) -> bool:
        """Whether the loads that were run bound it from above."""
        return self.capacity_high is not None


class ModelRecord(Part):
    """What `windtunnel model fit` writes."""

    version: Literal[1] = MODEL_VERSION
    kind: Literal["cost", "latency"]
    title: str
    question: str
    fitted: AwareDatetime
    axis: str = Field(description="path of the key that the curves run over")
    response: str = Field(description="modelled cost: table, pipeline, or a column of the study's table")
    provenance: Provenance
    host: dict[str, Any]
    memory: str | None = Field(description="hugepages or no-huge; null: more than one")
    versions: dict[str, str]
    ladder: Ladder | None = Field(
        description="of the host, measured for this model; null: none, and no form that needs one was tried"
    )
    state: str | None = Field(None, description="host state of all runs; null: not known")
    neighbour: Neighbour | None = Field(description="null: costs were not corrected")
    curves: list[Curve]
    steps: list[Step] = Field(description="of the pipeline outside the tables; empty: not timed")
    latency: list[LatencyCurve]


def read(path: Path) -> ModelRecord:
    """Raises UserError for a file that is not a model, or one of another version."""
    how = "windtunnel model fit STUDY writes one"
    try:
        text = read_regular(path, MOST_RECORD_BYTES, follow=True)
        document = parse_json(text, path)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}", remedy=how) from error
    except UserError as error:
        raise UserError(error.message, remedy=how) from None
    version = document.get("version") if isinstance(document, dict) and "curves" in document else None
    if version is None:
        raise UserError(f"{path}: not a model", remedy=how)
    if version != MODEL_VERSION:
        raise UserError(
            f"{path}: model of version {version}, this windtunnel reads version {MODEL_VERSION}",
            remedy="fit it again from its study, or use the version of windtunnel that wrote it",
        )
    try:
        return ModelRecord.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UserError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}", remedy=how) from error
