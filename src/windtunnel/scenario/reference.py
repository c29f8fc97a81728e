"""What each key takes, in words: for messages and for the generated page of keys."""

import json
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast

from annotated_types import Ge, Gt, Le, Lt, MaxLen
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from windtunnel.engine.plan_values import PowerOfTwo
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.quantities import Quantity, write
from windtunnel.scenario.refusal import Path
from windtunnel.scenario.table import Table
from windtunnel.scenario.values import Wanted
from windtunnel.scenario.wire_options import OptionTable, WireName, every_option


@dataclass(frozen=True)
class Key:
    """One key of a table, ready to be shown."""

    name: str
    wanted: str
    default: str
    help: str
    table: type[Table] | None
    """The model of the table, or of each table of the list, that the key holds."""
    many: bool


def keys_of(table: type[Table]) -> dict[str, Key]:
    """The keys of a table in the order of the model."""
    return {key.name: key for key in _keys(table)}


def table_at(path: Path, root: type[Table] = Scenario) -> type[Table] | None:
    """The model that says which keys the table at `path` has; None if any key goes, or if there is no table.

    `root` is the model of the file.
    """
    table: type[Table] | None = root
    for part in path:
        if isinstance(part, int):
            continue
        key = keys_of(table).get(part) if table else None
        table = key.table if key else None
    return table


def key_at(path: Path, root: type[Table] = Scenario) -> Key | None:
    """The key that the path leads to or through."""
    names = [part for part in path if isinstance(part, str)]
    for end in range(len(names), 0, -1):
        table = table_at(tuple(names[: end - 1]), root)
        if table and names[end - 1] in keys_of(table):
            return keys_of(table)[names[end - 1]]
    return None


def _keys(table: type[Table]) -> Iterator[Key]:
    yield from _fields(table)
    if issubclass(table, OptionTable):
        yield from _fields(every_option(table.SCOPE))


def _fields(table: type[Table]) -> Iterator[Key]:
    for attribute, field in table.model_fields.items():
        base, metadata, many = _unwrap(field.annotation, field.metadata)
        inner = base if isinstance(base, type) and issubclass(base, Table) else None
        wanted = ("tables" if many else "a table") if inner else _wanted(base, metadata)
        if many and not inner:
            wanted = f"a list, each {wanted}"
        yield Key(
            field.alias or attribute, wanted, _default(field, metadata, inner), field.description or "", inner, many
        )


def _unwrap(annotation: Any, metadata: list[Any]) -> tuple[Any, list[Any], bool]:
    """The innermost type, all that is annotated on the way, and whether a list stood there."""
    many = False
    while True:
        origin, args = typing.get_origin(annotation), typing.get_args(annotation)
        if any(isinstance(item, Wanted) for item in metadata):
            return annotation, metadata, many
        if origin is Annotated:
            annotation, metadata = args[0], [*metadata, *_flat(args[1:])]
        elif origin in (Union, UnionType) and len(rest := [arg for arg in args if arg is not type(None)]) == 1:
            annotation = rest[0]
        elif origin is list:
            annotation, many, metadata = args[0], True, []
        else:
            return annotation, metadata, many


def _flat(metadata: tuple[Any, ...]) -> Iterator[Any]:
    for item in metadata:
        yield from item.metadata if isinstance(item, FieldInfo) else [item]


def _wanted(base: Any, metadata: list[Any]) -> str:
    for item in metadata:
        if isinstance(item, Wanted):
            return item.text
        if isinstance(item, Quantity | WireName):
            return item.wanted()
    if typing.get_origin(base) is Literal:
        return " | ".join(f'"{value}"' for value in typing.get_args(base))
    if base is bool:
        return "true or false"
    if base in (int, float):
        power = ", a power of two" if any(isinstance(item, PowerOfTwo) for item in metadata) else ""
        return f"a {'whole ' if base is int else ''}number{_range(metadata)}{power}"
    longest = [item.max_length for item in metadata if isinstance(item, MaxLen)]
    return f"text of at most {longest[0]} characters" if longest else "text"


def _range(metadata: list[Any]) -> str:
    low = [f" from {item.ge}" for item in metadata if isinstance(item, Ge)]
    low += [f" above {item.gt}" for item in metadata if isinstance(item, Gt)]
    high = [f" to {_power(cast(float, item.le))}" for item in metadata if isinstance(item, Le)]
    high += [f" below {_power(cast(float, item.lt))}" for item in metadata if isinstance(item, Lt)]
    return "".join(low + high)


def _power(limit: float) -> str:
    exponent = int(limit).bit_length() - 1
    return f"2^{exponent}" if limit == 1 << exponent and exponent >= 20 else f"{limit:g}" if limit > 1e5 else str(limit)


def _default(field: FieldInfo, metadata: list[Any], inner: type[Table] | None) -> str:
    if inner is not None or field.default_factory is not None or field.default is None:
        return ""
    if field.default is PydanticUndefined:
        return "required"
    if isinstance(field.default, bool | list):
        return json.dumps(field.default)
    quantity = next((item for item in metadata if isinstance(item, Quantity)), None)
    if quantity is not None:
        return f'"{write(quantity.kind, quantity.read(field.default))}"'
    return f'"{field.default}"' if isinstance(field.default, str) else str(field.default)
