"""study.json: what a study is, written once before its first run; changed once more if a user continues what another one began.

History of the record's version:
1  third run: the study's and the scenario's text, factors, points, the order of the runs, host and versions
"""

import hashlib
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from pydantic import AwareDatetime, BaseModel, Field, ValidationError, model_validator
from pydantic_core import to_jsonable_python

from windtunnel.engine.find import find_engine
from windtunnel.engine.query import version
from windtunnel.errors import UserError
from windtunnel.measure.executor import Executor
from windtunnel.measure.study.design import Design, Point
from windtunnel.measure.study.factors import Factor
from windtunnel.measure.study.values import ColumnType
from windtunnel.runs.record import Part
from windtunnel.text_file import MOST_RECORD_BYTES, parse_json, read_regular
from windtunnel.version import __version__

STUDY_VERSION: Final = 1
NAME = "study.json"


class TextFile(Part):
    """A file that the study was made from, whole."""

    file: str = Field(description="absolute path")
    sha256: str
    text: str


class LevelRecord(Part):
    values: list[Any] = Field(description="one a key, as the scenario takes them")
    label: str
    cell: bool | int | float | str = Field(description="as the table has it")


class FactorRecord(Part):
    name: str
    keys: list[str]
    type: ColumnType
    unit: str | None = Field(
        description="kind of quantity: size (cells in bytes), duration (ns), rate (a second); null: none"
    )
    log: bool
    levels: list[LevelRecord]


class PointRecord(Part):
    number: int
    name: str = Field(
        pattern=r"^[0-9]+(-[A-Za-z0-9._-]+)?$", description="of its run directories, in front of the repeat"
    )
    sets: list[str]
    cells: dict[str, bool | int | float | str] = Field(description="factor -> cell")
    memory: str | None = Field(description="memory mode; null: it cannot run here")
    cpus: dict[str, list[int]] = Field(description="endpoint -> CPUs")
    cannot_run: str | None


class StudyRecord(Part):
    """What study.json holds."""

    version: Literal[1] = STUDY_VERSION
    title: str
    question: str
    started: AwareDatetime
    study: TextFile
    scenario: TextFile
    sets: list[str] = Field(description="of the command line")
    full: bool = Field(False, description="the full size: with --full")
    repeats: int
    retries: int
    state_repeats: float = Field(0.33, description="most runs, as a share of all, that are repeated for their state")
    seed: int
    constraints: list[str] = Field(
        default_factory=list, description="of the study file; empty: none, or an older record"
    )
    metrics: list[str]
    latency: list[Literal["boxes", "percentiles"]] = Field(default_factory=list)
    counters: list[str] = Field(default_factory=list, description="events that are counted for the workers' threads")
    reference: Literal["thesis exact"] | None = None
    line_rate: float | None = Field(
        None, description="bits a second of a link that the report draws; null: none is named"
    )
    factors: list[FactorRecord]
    points: list[PointRecord]
    order: list[list[int]] = Field(description="one list a repeat: the numbers of the points as they run")
    host: dict[str, Any] = Field(description="the host of the command, or the first testbed")
    testbeds: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="testbed that it began on -> host; empty: the host of the command",
    )
    spread: bool = Field(
        False, description="each repeat of all points has a testbed of its own: points are compared within one testbed"
    )
    versions: dict[str, str]

    @model_validator(mode="after")
    def _numbered(self) -> "StudyRecord":
        numbers = [point.number for point in self.points]
        if numbers != list(range(1, len(numbers) + 1)):
            raise ValueError("points are numbered from 1")
        if not {number for block in self.order for number in block} <= set(numbers):
            raise ValueError("order names a point that is not there")
        return self

    def point(self, number: int) -> PointRecord:
        return self.points[number - 1]


def record_of(design: Design, executor: Executor) -> StudyRecord:
    """The record of a study that begins now. Raises UserError if there is no engine."""
    definition = design.definition
    return StudyRecord(
        title=definition.title,
        question=definition.question,
        started=datetime.now(UTC),
        study=text_file(definition.source.file, definition.source.text),
        scenario=text_file(definition.scenario_file, definition.scenario_text),
        sets=design.sets,
        full=definition.is_full,
        repeats=definition.repeats,
        retries=definition.retries,
        state_repeats=definition.state_repeats,
        seed=definition.seed,
        constraints=definition.constraints,
        metrics=definition.metrics,
        latency=definition.latency,
        counters=definition.counters,
        reference=definition.reference,
        line_rate=definition.line_rate,
        factors=[factor_record(factor) for factor in design.factors],
        points=[_point(design, point) for point in design.points],
        order=order([point.number for point in design.running], definition.repeats, definition.seed),
        host=to_jsonable_python(executor.host),
        testbeds=to_jsonable_python(executor.testbeds),
        spread=executor.spread,
        versions=versions(),
    )


def factor_record(factor: Factor) -> FactorRecord:
    return FactorRecord(
        name=factor.name,
        keys=list(factor.keys),
        type=factor.levels.type,
        unit=factor.levels.unit,
        log=factor.levels.log,
        levels=[LevelRecord(values=list(x.values), label=x.label, cell=x.cell) for x in factor.levels.members],
    )


def order(points: list[int], repeats: int, seed: int) -> list[list[int]]:
    """Randomised complete blocks: each repeat holds every point once, in an order of its own, so that a host that drifts
    meets all points alike."""
    shuffled = random.Random(seed)
    return [shuffled.sample(points, len(points)) for _ in range(repeats)]


def versions() -> dict[str, str]:
    """What runs: two builds of the same version are two engines."""
    engine = find_engine()
    digest = hashlib.sha256(engine.read_bytes()).hexdigest()
    return {"windtunnel": __version__, "engine": version(engine), "engine sha256": digest}


def read(path: Path) -> StudyRecord:
    """Raises UserError if it is none, or one of another version."""
    return read_with_bytes(path)[0]


def read_with_bytes(path: Path) -> tuple[StudyRecord, bytes]:
    """The record, and what it was read from. Raises UserError as `read`."""
    content = content_of(path, "study", WHICH)
    document = document_in(content, path, "study", STUDY_VERSION)
    return validated(path, StudyRecord, document), content


def document_of(path: Path, noun: str, version: int, remedy: str) -> dict[str, Any]:
    """A record as JSON has it. Raises UserError if it is none, or one of another version; `remedy`: for an error if there is no such file."""
    return document_in(content_of(path, noun, remedy), path, noun, version)


def content_of(path: Path, noun: str, remedy: str) -> bytes:
    """The bytes of a record. Raises UserError; `remedy`: for an error if there is no such file."""
    try:
        return read_regular(path, MOST_RECORD_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{path.parent}: not a {noun}, it has no {path.name}", remedy=remedy) from None


def document_in(content: bytes, path: Path, noun: str, version: int) -> dict[str, Any]:
    """A record as JSON has it, from bytes that were read from a path. Raises UserError as `document_of`."""
    document = parse_json(content, path)
    then = document.get("version") if isinstance(document, dict) else None
    if then != version:
        raise UserError(f"{path}: {noun} of version {then}, this windtunnel reads version {version}")
    return dict(document)


R = TypeVar("R", bound=BaseModel)


def validated(path: Path, kind: type[R], document: dict[str, Any]) -> R:
    """The record in a document. Raises UserError that names the first key that is wrong."""
    try:
        return kind.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UserError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error


WHICH = "name a directory that `windtunnel study` has left"


def text_file(file: Path, text: str) -> TextFile:
    """A file that a study was made from, with its digest."""
    return TextFile(file=str(file.absolute()), sha256=hashlib.sha256(text.encode()).hexdigest(), text=text)


def _point(design: Design, point: Point) -> PointRecord:
    spec = point.spec
    return PointRecord(
        number=point.number,
        name=point.name,
        sets=list(point.sets),
        cells=design.cells(point),
        memory=spec.plans[0].eal.memory if spec else None,
        cpus=_cpus(point) if spec else {},
        cannot_run=point.cannot_run,
    )


def _cpus(point: Point) -> dict[str, list[int]]:
    """CPUs of each endpoint's workers."""
    cpus: dict[str, set[int]] = {}
    for plan in point.spec.plans if point.spec else ():
        for worker in plan.workers:
            for stage in worker.stages:
                cpus.setdefault(plan.endpoints[stage.endpoint].side, set()).add(worker.cpu)
    return {side: sorted(numbers) for side, numbers in sorted(cpus.items())}
