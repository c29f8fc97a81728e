"""A fitted model as a file: its form, its held-out errors, and its provenance.

History of the record's version:
1  costs of tables by entries, latency by load
"""

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

import numpy as np
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from windtunnel.errors import UserError
from windtunnel.host.ladder import Ladder
from windtunnel.parts.models.forms import CACHE
from windtunnel.parts.models.heldout import FORMS
from windtunnel.parts.models.points import World, world_of
from windtunnel.parts.models.queueing import PERCENTILES, QUEUES
from windtunnel.runs.record import LEAST_NUMBER, MOST_NUMBER
from windtunnel.text_file import MOST_RECORD_BYTES, parse_json, read_regular

MODEL_VERSION: Final = 1
MOST_EXPONENT = 1.5
"""Of a neighbour's correction; 1 is a cost that rises as the ticks do."""
MOST_CORES = 1024
"""Of a run, as of a prediction."""
NO_MODEL = "a model has no such numbers: look at the rows of the study"
"""What helps if a fit has one."""
MOST_KEY_BYTES = 1 << 16
"""More than any packet has."""


def _within(value: Any) -> Any:
    """The value itself. Raises ValueError for one that has a number in it that is no quantity."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            _within(each)
    elif isinstance(value, int | float) and not -MOST_NUMBER <= value <= MOST_NUMBER:
        raise ValueError(f"a number that is not between -{MOST_NUMBER:g} and {MOST_NUMBER:g}")
    return value


Positive = Annotated[float, Field(ge=LEAST_NUMBER, le=MOST_NUMBER)]
NotNegative = Annotated[float, Field(ge=0, le=MOST_NUMBER)]
Values = Annotated[dict[str, Any], AfterValidator(_within)]


class Part(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, allow_inf_nan=False)


class Provenance(Part):
    """The study that a model was fitted to."""

    study: str = Field(description="absolute path of its directory when it was fitted")
    title: str
    started: AwareDatetime
    results_sha256: str
    runs: int = Field(ge=0, description="valid ones")
    left_out: list[str] = Field(description="sentences: runs that were not used, and why")
    doubts: list[str] = Field([], description="invalid runs that were used, and validity limits that were relaxed")


class Parameter(Part):
    """95% interval by bootstrap; null: too few of its fits converged."""

    name: str
    value: NotNegative
    low: NotNegative | None
    high: NotNegative | None


class Sized(Part):
    """One size of the table."""

    entries: Positive
    bytes: Positive = Field(description="working set")
    ns: Positive = Field(description="median of the runs")
    runs: list[NotNegative] = Field(description="their costs, as if each had had one core")
    cores: list[Annotated[int, Field(ge=1, le=MOST_CORES)]] = Field(
        default_factory=list, description="of each run; empty: an older model"
    )
    held_out: NotNegative | None = Field(
        description="prediction of the form that was chosen and fitted without this size, ns"
    )

    @model_validator(mode="after")
    def _cores_of_each(self) -> Self:
        if self.cores and len(self.cores) != len(self.runs):
            raise ValueError("cores: not as many as runs")
        return self


class Tried(Part):
    """One form and its held-out errors, as shares. null: it could not be fitted or held out."""

    form: str
    words: str
    thesis: bool = Field(description="one of the thesis' forms")
    mape: NotNegative | None = Field(description="leave one out")
    most: NotNegative | None
    onwards: NotNegative | None = Field(description="mean absolute error at the next two sizes, from the smaller ones")
    why: str | None


class Beyond(Part):
    """Fitted up to a bound, predicts above it."""

    bound: Positive
    form: str
    mape: NotNegative
    most: NotNegative
    thesis_form: str | None
    thesis_mape: NotNegative | None = Field(
        description="of the best of the thesis' forms, chosen and fitted in the same way"
    )


class Curve(Part):
    """Cost of a packet by a table's entries, with all other settings fixed."""

    settings: Values = Field(description="path of every other factor -> its cell")
    table: Values = Field(description="the table's own keys as resolved, its size left out; empty: not known")
    form: str
    parameters: list[Parameter]
    caches: list[NotNegative] | None = Field(
        description="parameters of the form `cache`, whichever form was chosen: for popular keys and shared caches; null: not fitted"
    )
    contention: NotNegative = Field(description="share by which a packet costs more for each core beyond the first")
    points: list[Sized] = Field(min_length=1)
    mape: NotNegative = Field(description="leave one out, the form chosen again each time")
    most: NotNegative
    noise: NotNegative | None = Field(
        description="mean absolute difference between runs of one size; null: one run each"
    )
    thesis_mape: NotNegative | None = Field(description="mape of the thesis' forms only")
    beyond: Beyond | None
    tried: list[Tried]
    draws: list[list[NotNegative]] = Field(description="parameters of the bootstrap's fits, for bands")

    @field_validator("table")
    @classmethod
    def _of_bytes(cls, table: dict[str, Any]) -> dict[str, Any]:
        """What the bytes that a lookup touches are computed from."""
        if table.get("kind") != "exact" or "load" not in table or not table.get("key"):
            return table
        load, key = table["load"], table["key"]
        if isinstance(load, bool) or not isinstance(load, int | float) or not LEAST_NUMBER <= load <= 1:
            raise ValueError("load: not between 0 and 1")
        if not isinstance(key, list) or not all(_is_size(each) for each in key):
            raise ValueError("key: not a list of sizes in bytes")
        return table

    @field_validator("points")
    @classmethod
    def _rising(cls, points: list[Sized]) -> list[Sized]:
        _check_rising("entries", [point.entries for point in points])
        if all(point.held_out is None for point in points):
            raise ValueError("no size has a held_out cost")
        return points

    def check(self, world: World) -> None:
        """Raises ValueError for a form that there is not, or that this world lacks something for, and for numbers that are not its own."""
        world = world.with_table(self.table)
        form = next((form for form in FORMS if form.name == self.form), None)
        if form is None:
            raise ValueError(f"form: this windtunnel has no form {self.form}")
        if form.needs_ladder and not world.has_ladder:
            raise ValueError(f"form: {self.form} needs a ladder, and the model has none of two sizes or more")
        if form.needs_parts and world.touched(np.ones(1)) is None:
            raise ValueError(
                f"form: {self.form} needs the load and the key of an exact table, and `table` has not both"
            )
        names = form.names(world)
        _check_count("parameters", self.parameters, f"{self.form} here", len(names))
        for place, draw in enumerate(self.draws):
            _check_count(f"draws.{place}", draw, f"{self.form} here", len(names))
        if self.caches is None:
            return
        _check_count("caches", self.caches, f"{CACHE.name} here", len(CACHE.names(world)))
        last, *costs = self.caches
        if last < LEAST_NUMBER or sum(costs) < LEAST_NUMBER:
            raise ValueError("caches: a size or a cost that is not above 0")


class Neighbour(Part):
    """The correction of costs for another hardware thread on the same physical core."""

    exponent: float = Field(
        ge=0,
        le=MOST_EXPONENT,
        description="costs are proportional to this power of the workers' wide_ticks, by runs of the same size",
    )
    ticks: Positive = Field(description="wide_ticks to which all costs are corrected: the median of the runs")


class Step(Part):
    """A part of the pipeline outside the tables: its median cost over all runs, ns per packet."""

    name: str
    ns: NotNegative
    low: NotNegative
    high: NotNegative

    @model_validator(mode="after")
    def _between(self) -> Self:
        if not self.low <= self.ns <= self.high:
            raise ValueError("ns is not between low and high")
        return self


class LatencyPoint(Part):
    """One load: the medians of its runs."""

    load: Positive = Field(description="messages per second")
    ns: dict[str, Positive] = Field(description="percentile -> latency")
    held_out: dict[str, NotNegative | None]


class LatencyCurve(Part):
    """Latency percentiles against load."""

    settings: Values
    form: str
    capacity: Positive = Field(description="messages per second from which the queue grows without limit")
    capacity_low: Positive | None = Field(description="95% by the profile likelihood; null: not bounded")
    capacity_high: Positive | None = Field(
        description="null: the loads that were run do not bound the capacity from above: it is not identified"
    )
    coefficients: dict[str, Annotated[list[NotNegative], Field(min_length=2, max_length=2)]] = Field(
        min_length=1, description="percentile -> coefficients of the form"
    )
    mape: dict[str, NotNegative] = Field(description="percentile -> leave one out, a share")
    most: dict[str, NotNegative]
    noise: dict[str, NotNegative | None]
    points: list[LatencyPoint] = Field(min_length=1)
    tried: list[Tried]

    @field_validator("form")
    @classmethod
    def _known(cls, form: str) -> str:
        if form not in [queue.name for queue in QUEUES]:
            raise ValueError(f"this windtunnel has no form {form}")
        return form

    @field_validator("coefficients")
    @classmethod
    def _of_percentiles(cls, coefficients: dict[str, list[float]]) -> dict[str, list[float]]:
        if unknown := coefficients.keys() - PERCENTILES.keys():
            raise ValueError(f"{min(unknown)} is none of {', '.join(PERCENTILES)}")
        return coefficients

    @field_validator("points")
    @classmethod
    def _rising(cls, points: list[LatencyPoint]) -> list[LatencyPoint]:
        _check_rising("load", [point.load for point in points])
        return points

    @model_validator(mode="after")
    def _of_the_same_percentiles(self) -> Self:
        of_points: dict[str, Mapping[str, Any]] = {}
        for place, point in enumerate(self.points):
            of_points |= {f"points.{place}.ns": point.ns, f"points.{place}.held_out": point.held_out}
        of_curve: dict[str, Mapping[str, Any]] = {"mape": self.mape, "most": self.most, "noise": self.noise}
        for name, known in (of_curve | of_points).items():
            if known.keys() != self.coefficients.keys():
                raise ValueError(f"{name} has other percentiles than coefficients")
        return self

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
    host: Values
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

    @model_validator(mode="after")
    def _curves_are_whole(self) -> Self:
        world = world_of(self.ladder)
        for place, curve in enumerate(self.curves):
            try:
                curve.check(world)
            except ValueError as error:
                raise ValueError(f"curves.{place}.{error}") from None
        _check_same_settings("curves", [curve.settings for curve in self.curves])
        _check_same_settings("latency", [curve.settings for curve in self.latency])
        return self


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_KEY_BYTES


def _check_rising(name: str, values: Iterable[float]) -> None:
    if any(a >= b for a, b in itertools.pairwise(values)):
        raise ValueError(f"{name} is not ascending")


def _check_count(name: str, found: Sequence[Any], of: str, wanted: int) -> None:
    if len(found) != wanted:
        raise ValueError(f"{name}: {len(found)} numbers, and {of} has {wanted}")


def _check_same_settings(name: str, settings: Sequence[Mapping[str, Any]]) -> None:
    """A curve is selected by the settings in which all differ."""
    for place, each in enumerate(settings):
        if each.keys() != settings[0].keys():
            raise ValueError(f"{name}.{place}.settings: other keys than in {name}.0")


@contextlib.contextmanager
def in_words(what: object, remedy: str) -> Iterator[None]:
    """A record that is refused within is a UserError that names the field."""
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        words = [".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")]
        raise UserError(f"{what}: {': '.join(filter(None, words))}", remedy) from error


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
            remedy="fit it again from its study, or use the version of Windtunnel that wrote it",
        )
    with in_words(path, how):
        return ModelRecord.model_validate_json(text)
