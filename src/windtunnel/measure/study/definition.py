"""The study file: every key with its type and one-line help, read and refused as a scenario's are."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path as File
from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Field, PrivateAttr, ValidationError, field_validator, model_validator

from windtunnel.errors import UserError, as_argument
from windtunnel.scenario.load import MAX_FILE_BYTES, located, parsed, question_of, read_scenario
from windtunnel.scenario.quantities import BitRate
from windtunnel.scenario.reference import keys_of
from windtunnel.scenario.refusal import Path, Refusal, Source, dotted, shown
from windtunnel.scenario.table import FileTable, Table
from windtunnel.scenario.values import Text, Wanted
from windtunnel.text_file import read_text

MAX_FACTORS = 8
MAX_VALUES = 1000

Number = Annotated[int | float | str, Wanted("a number, or a quantity with its unit")]


class Range(Table):
    """Values from one number to another in equal steps; the last one is `to` if a step meets it."""

    from_: Number = Field(alias="from", description="the first value")
    to: Number = Field(description="upper end of the range")
    step: Number = Field(description="step between values, above 0")


class Log(Table):
    """Values from one number to another, both included, in equal ratios."""

    from_: Number = Field(alias="from", description="the first value, above 0")
    to: Number = Field(description="the last value")
    points: Annotated[int, Field(ge=2, le=MAX_VALUES)] = Field(description="how many values")


def _one_of(*names: str) -> dict[str, Any]:
    return {"oneOf": [{"required": [name]} for name in names]}


class Factor(Table):
    """What is changed from point to point."""

    model_config = ConfigDict(json_schema_extra={"allOf": [_one_of("key", "keys"), _one_of("values", "range", "log")]})

    name: str | None = Field(
        None,
        pattern=r"^[A-Za-z][A-Za-z0-9_]{0,39}$",
        description="column of the table; default: the last part of the key",
    )
    key: Text | None = Field(None, description='key of the scenario as --set takes it, as in "client.inflight"')
    keys: list[Text] | None = Field(
        None, min_length=1, max_length=16, description="several keys that change together, instead of `key`"
    )
    values: Annotated[list[Any], Wanted("a list")] | None = Field(
        None,
        min_length=1,
        max_length=MAX_VALUES,
        description="values, one for each point; with `keys`, one value for all keys or a list with one for each",
    )
    range_: Range | None = Field(None, alias="range", description="instead of values: equal steps")
    log: Log | None = Field(None, description="instead of values: equal ratios")
    labels: Annotated[list[int | float | Text], Wanted("a list of numbers or texts")] | None = Field(
        None, description="labels of the values in tables and plots, one for each; default: the values"
    )

    @model_validator(mode="after")
    def _one_of_each(self) -> "Factor":
        if (self.key is None) == (self.keys is None):
            raise ValueError("takes either key or keys")
        if sum(choice is not None for choice in (self.values, self.range_, self.log)) != 1:
            raise ValueError("takes one of values, range and log")
        return self

    @property
    def all_keys(self) -> list[str]:
        return [self.key] if self.key is not None else list(self.keys or ())

    @property
    def column(self) -> str:
        return self.name or self.all_keys[0].rpartition(".")[2]


class Full(Table):
    """What `windtunnel study FILE --full` changes."""

    repeats: Annotated[int, Field(ge=1, le=1000)] | None = Field(None, description="instead of `repeats` of the file")
    retries: Annotated[int, Field(ge=0, le=9)] | None = Field(None, description="instead of `retries` of the file")
    constraints: list[Text] | None = Field(None, max_length=64, description="instead of `constraints` of the file")
    metrics: list[Text] | None = Field(None, max_length=16, description="instead of `metrics` of the file")
    set_: Annotated[dict[str, Any], Wanted("a table of keys and values")] = Field(
        default_factory=dict, alias="set", description="keys that extend or replace those of [set]"
    )
    factor: list[Factor] = Field(
        default_factory=list,
        max_length=MAX_FACTORS,
        description="replaces the factor with the same column, or adds one",
    )


class Definition(FileTable):
    """A scenario x factors x repeats, and the question that it answers."""

    title: Text = Field("", max_length=200, description="name of the study; default: the file's")
    scenario: Text = Field(description="scenario file, relative to this file")
    repeats: Annotated[int, Field(ge=1, le=1000)] = Field(3, description="runs of every point")
    retries: Annotated[int, Field(ge=0, le=9)] = Field(
        1, description="repeats of an invalid run, at the end of the study"
    )
    state_repeats: Annotated[float, Field(ge=0, le=10)] = Field(
        0.33,
        description="most repeats of runs that missed the common state of the host, as a share of all runs",
    )
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = Field(1, description="seed of the order of the runs")
    constraints: list[Text] = Field(
        default_factory=list,
        max_length=64,
        description="SQL expressions over the factors; a point must satisfy all of them",
    )
    metrics: list[Text] = Field(
        default_factory=list,
        max_length=16,
        description="columns that the report plots; the first one determines the best point",
    )
    latency: list[Literal["boxes", "percentiles"]] = Field(
        default_factory=list,
        description="further plots: a box of latencies for each point, with L(c); a percentile curve for each point",
    )
    counters: list[Text] = Field(
        default_factory=list,
        max_length=16,
        description="events that the kernel counts for the workers' threads, as `run --counters` takes them; a column each, and a plot beside "
        "the first metric",
    )
    reference: Literal["thesis exact"] | None = Field(
        None, description="a published curve, drawn faintly over entries and cores: T4P4S with exact tables"
    )
    line_rate: BitRate | None = Field(
        None,
        description="a link whose packets per second are a line in plots of rates; default: the emulated one, if there is one",
    )
    set_: Annotated[dict[str, Any], Wanted("a table of keys and values")] = Field(
        default_factory=dict, alias="set", description="scenario keys that are set for every point"
    )
    factor: list[Factor] = Field(min_length=1, max_length=MAX_FACTORS, description="one table per factor")
    full: Full | None = Field(None, description="changes of the full size (--full)")

    _is_full: bool = PrivateAttr(False)

    @field_validator("scenario")
    @classmethod
    def _named(cls, name: str) -> str:
        if not name:
            raise ValueError("names no file")
        return name

    @property
    def is_full(self) -> bool:
        """Whether it is the full size."""
        return self._is_full

    @property
    def scenario_file(self) -> File:
        return located(self.source.file.parent / self.scenario)

    @cached_property
    def scenario_text(self) -> str:
        """The scenario at the first look: what is compared with the record, and shown, is what runs."""
        return read_scenario(self.scenario_file)

    def in_full(self) -> "Definition":
        """The study in its full size. Raises UserError if the file has no [full]."""
        if self.full is None:
            raise UserError(
                f"{self.source.file}: the study has no full size",
                remedy="run it without --full, or add a table [full] with changes of the full size (--full)",
            )
        full = self.full
        moved: dict[Path, Path] = {}
        update: dict[str, Any] = {"title": f"{self.title}, full size"[:200]}
        for name in ("repeats", "retries", "constraints", "metrics"):
            if (value := getattr(full, name)) is not None:
                update[name] = value
                moved[(name,)] = ("full", name)
        update["factor"] = self._factors_in_full(full, moved)
        update["set_"] = self._set_in_full(full, moved)
        study = self.model_copy(update=update)
        study._source = MovedSource(
            self.source.file, self.source.text, self.source.overrides, self.source.named_in, moved
        )
        study._question, study._is_full = self.question, True
        return study

    def _factors_in_full(self, full: Full, moved: dict[Path, Path]) -> list[Factor]:
        factors = list(self.factor)
        columns = [factor.column for factor in factors]
        for n, factor in enumerate(full.factor):
            place = columns.index(factor.column) if factor.column in columns else len(factors)
            factors[place : place + 1] = [factor]
            moved["factor", place] = ("full", "factor", n)
        return factors

    def _set_in_full(self, full: Full, moved: dict[Path, Path]) -> dict[str, Any]:
        """Both [set], by dotted keys, without those that a factor of [full] changes."""
        factors = {key for factor in full.factor for key in factor.all_keys}
        settings: dict[str, Any] = {}
        for table, place in ((self.set_, ("set",)), (full.set_, ("full", "set"))):
            for path, value in leaves(table):
                key = dotted(path)
                if key not in factors or table is full.set_:
                    settings[key] = value
                    moved["set", key] = (*place, *path)
        return settings


@dataclass(frozen=True)
class MovedSource(Source):
    """The source of a study in its full size: what [full] has put in another place is looked for in [full]."""

    moved: dict[Path, Path] = field(default_factory=dict)

    def place(self, path: Path) -> str:
        for end in range(len(path), 0, -1):
            if path[:end] in self.moved:
                return super().place((*self.moved[path[:end]], *path[end:]))
        return super().place(path)


def leaves(table: dict[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value of a table, with its path: a dotted key is a table in a table."""
    for key, value in table.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


def read(path: File, named_in: File | None = None) -> Definition:
    """The study in a file. `named_in`: the directory of the record that names it; None: the user does. Raises UserError that names file and line,
    the error and the remedy."""
    return read_as(path, Definition, named_in)


D = TypeVar("D", bound=Definition)


def read_as(path: File, kind: type[D], named_in: File | None = None) -> D:
    """Reads, as `read` does, a file that has a study's grammar."""
    text = read_text(path, MAX_FILE_BYTES, "name a study file, as in studies/inflight.toml")
    source = Source(path, text, named_in=named_in)
    data = parsed(path, text, named_in)
    if "workload" in data and "factor" not in data:
        raise UserError(f"{path}: a scenario, not a study", remedy=f"windtunnel run {as_argument(path)}")
    try:
        definition = kind.model_validate(data)
    except Refusal as refusal:
        raise source.reading_error(refusal) from None
    except ValidationError as error:
        raise source.reading_error(_refusal(error.errors(include_url=False)[0], data)) from None
    definition._source, definition._question = source, question_of(text)
    return definition if definition.title else _titled(definition)


def _titled(definition: D) -> D:
    return definition.model_copy(update={"title": definition.source.file.stem[:200]})


TABLES: dict[str, type[Table]] = {"factor": Factor, "range": Range, "log": Log, "full": Full}


def _refusal(error: Any, data: dict[str, Any]) -> Refusal:
    """The first error of pydantic, as a message of ours."""
    path: Path = tuple(part for part in error["loc"] if part not in ("int", "float", "str"))
    name, kind = dotted(path), error["type"]
    table, remedy = _table_of(path), ""
    names = [part for part in path if isinstance(part, str)]
    if kind == "extra_forbidden":
        if not names[:-1] and (data.keys() & {"workload", "wire", "client", "server"}):
            return Refusal(path, "a scenario, not a study", f"windtunnel run, or a study of it: {_EXAMPLE}")
        known = ", ".join(keys_of(table))
        return Refusal(path, f'unknown key "{path[-1]}" in {_place(path)}', f"known keys: {known}")
    key = keys_of(table).get(names[-1]) if names else None
    if key:
        remedy = f"{key.name}: {key.help}"
    if kind == "missing":
        return Refusal(path, f"{name} is missing", remedy)
    if kind == "value_error":
        return Refusal(path, f"{name}: {error['ctx']['error']}", _EXAMPLE if not remedy else remedy)
    if kind in ("too_short", "too_long"):
        return Refusal(path, f"{name} has {error['ctx']['actual_length']} entries", remedy)
    return Refusal(path, f"{name} is {shown(error['input'])}", f"it takes {key.wanted}; {key.help}" if key else remedy)


_EXAMPLE = '[[factor]] with key = "client.inflight" and values = [32, 64]'


def _table_of(path: Path) -> type[Table]:
    """The model of the table in which the path ends."""
    inner = [TABLES[part] for part in path[:-1] if isinstance(part, str) and part in TABLES]
    return inner[-1] if inner else Definition


def _place(path: Path) -> str:
    names = [str(part) for part in path[:-1] if not re.fullmatch(r"\d+", str(part))]
    return f"[{'.'.join(names)}]" if names else "the study"
