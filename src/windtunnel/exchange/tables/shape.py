"""The tables of a window, derived from its model.

A list of parts is a table (`stages`: a row a part), a counter by keys is one (`bursts`: a row a key), and so are the histograms
of all parts together (`histograms`, and `buckets`: a row a bucket). Everything else is a column; a value of no such shape
is a column of JSON text.
"""

import typing
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, Union

from pydantic import BaseModel

from windtunnel.engine.histogram import Histogram
from windtunnel.engine.windows import Window

WINDOWS, HISTOGRAMS, BUCKETS = "windows", "histograms", "buckets"
BUCKETS_OF = (Histogram, "counts")
NAMES = {"stages.burst": "bursts", "stages.drops": "drops"}
"""Tables of counters that have a name of their own; others are called <table>_<field>."""
_SQL = {bool: "BOOLEAN", int: "UBIGINT", float: "DOUBLE", str: "VARCHAR"}


@dataclass(frozen=True)
class Column:
    name: str
    sql: str
    """Type in DuckDB."""
    help: str
    json: bool = False
    """Whether it is JSON text, for a value that is not plain."""


@dataclass(frozen=True)
class Table:
    """`keys` tell where a row belongs, `columns` have its values."""

    name: str
    keys: tuple[Column, ...]
    columns: tuple[Column, ...]

    @property
    def all(self) -> tuple[Column, ...]:
        return (*self.keys, *self.columns)


@dataclass(frozen=True)
class Parts:
    """The layout of the fields of one model."""

    plain: tuple[Column, ...]
    lists: dict[str, type[BaseModel]]
    """Field -> model of its parts."""
    counters: dict[str, tuple[str, str]]
    """Field -> types of key and value."""
    histograms: tuple[str, ...]


ENGINE = Column("engine", "VARCHAR", "name of the engine")
WINDOW = Column("window", "UBIGINT", "position among the engine's windows, from 0")
ROW = Column("row", "UBIGINT", "position among the window's parts of this kind, from 0")
OF = Column("of", "VARCHAR", "table of the part that it belongs to")
PLACE = Column("place", "UBIGINT", "position, from 0")
NAME = Column("name", "VARCHAR", "which histogram of the part")


@cache
def tables() -> dict[str, Table]:
    """The tables by name: windows, their parts, the counters of the parts, histograms and buckets."""
    top = parts_of(Window)
    derived = [Table(WINDOWS, (ENGINE, WINDOW), top.plain)]
    for field, model in top.lists.items():
        parts = parts_of(model)
        derived.append(Table(field, (ENGINE, WINDOW, ROW), parts.plain))
        for counter, (key, value) in parts.counters.items():
            about = model.model_fields[counter].description or ""
            columns = (Column("key", key, about), Column("value", value, about))
            derived.append(Table(counter_table(field, counter), (ENGINE, WINDOW, ROW, PLACE), columns))
    keys = (ENGINE, WINDOW, OF, ROW, NAME)
    buckets = (
        Column("lowest", "UBIGINT", "lowest value that falls into the bucket"),
        Column("count", "UBIGINT", "values in it"),
    )
    derived += [Table(HISTOGRAMS, keys, parts_of(Histogram).plain), Table(BUCKETS, (*keys, PLACE), buckets)]
    return {table.name: table for table in derived}


@cache
def parts_of(model: type[BaseModel]) -> Parts:
    plain: list[Column] = []
    lists: dict[str, type[BaseModel]] = {}
    counters: dict[str, tuple[str, str]] = {}
    histograms: list[str] = []
    for name, field in model.model_fields.items():
        base, optional = _without_none(field.annotation)
        origin, inner = typing.get_origin(base), typing.get_args(base)
        if (model, name) == BUCKETS_OF:
            continue
        if base is Histogram:
            histograms.append(name)
        elif model is Window and origin is list and isinstance(inner[0], type) and issubclass(inner[0], BaseModel):
            lists[name] = inner[0]
        elif model is not Window and origin is dict and not optional and all(map(_sql, inner)):
            counters[name] = (_sql(inner[0]) or "", _sql(inner[1]) or "")
        else:
            sql = _sql(base)
            plain.append(Column(name, sql or "VARCHAR", field.description or "", json=sql is None))
    return Parts(tuple(plain), lists, counters, tuple(histograms))


def counter_table(table: str, field: str) -> str:
    return NAMES.get(f"{table}.{field}", f"{table}_{field}")


def _without_none(annotation: Any) -> tuple[Any, bool]:
    if typing.get_origin(annotation) in (Union, UnionType):
        rest = [member for member in typing.get_args(annotation) if member is not type(None)]
        if len(rest) == 1:
            return rest[0], True
    return annotation, False


def _sql(annotation: Any) -> str | None:
    """The SQL type of a plain value; None if the value is not plain."""
    if typing.get_origin(annotation) is Literal:
        kinds = {type(value) for value in typing.get_args(annotation)}
        return _SQL.get(kinds.pop()) if len(kinds) == 1 else None
    return _SQL.get(annotation)
