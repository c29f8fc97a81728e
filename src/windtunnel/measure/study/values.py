"""A factor's values: lists, ranges and log ranges become what --set takes, and what stands in the table for it."""

import itertools
import json
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from windtunnel.measure.study.definition import MAX_VALUES, Factor, Log, Number, Range
from windtunnel.scenario.quantities import UNITS, has_unit, parse, write
from windtunnel.scenario.refusal import Refusal, shown

ColumnType = Literal["BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR"]
Cell = int | float | bool | str

_FLOAT_DIGITS = 6
LARGEST = 2**63


@dataclass(frozen=True)
class Level:
    """One value of a factor."""

    values: tuple[Any, ...]
    """One value for each key, as the scenario takes them."""
    label: str
    """The value as people read it: "64KiB"."""
    cell: Cell
    """The value as the table has it: quantities in bytes, ns or a second."""


@dataclass(frozen=True)
class Levels:
    """All values of a factor, in the file's order."""

    members: tuple[Level, ...]
    type: ColumnType
    unit: str | None
    """Kind of quantity of the cells: "size" in bytes, "duration" in ns, "rate" a second; None: plain."""
    log: bool
    """Whether a logarithmic axis suits them: the file says so, or each is a like multiple of the one before."""


def levels(factor: Factor) -> Levels:
    """The levels of a factor. Raises Refusal, its path below the factor's table."""
    width = len(factor.all_keys)
    if factor.values is not None:
        rows = [_row(value, n, factor) for n, value in enumerate(factor.values)]
    else:
        assert factor.range_ or factor.log  # the model takes one of the three
        spread = _range(factor.range_) if factor.range_ else _log(factor.log) if factor.log else []
        rows = [(value,) * width for value in spread]
    labels, labels_path = factor.labels, ("labels",)
    if labels is not None and len(labels) != len(rows):
        raise Refusal(labels_path, f"{len(labels)} labels for {len(rows)} values", "one label a value")
    plain = labels if labels is not None else [_plain(row) for row in rows]
    cells, kind, unit = _cells(plain)
    for n, cell in enumerate(cells):
        if cell in cells[:n]:
            where = ("labels", n) if labels is not None else ("values", n) if factor.values is not None else ()
            raise Refusal(where, f"{shown(plain[n])} is given twice", "each value once; repeats = N repeats them")
    members = tuple(Level(row, _label(p), cell) for row, p, cell in zip(rows, plain, cells, strict=True))
    return Levels(members, kind, unit, factor.log is not None or _geometric(cells))


def _row(value: Any, n: int, factor: Factor) -> tuple[Any, ...]:
    """The values of one point, one a key."""
    width = len(factor.all_keys)
    if factor.key is not None or not isinstance(value, list):
        settable(value, ("values", n))
        return (value,) * width
    if len(value) != width:
        problem = f"a list of {len(value)} for {width} keys"
        raise Refusal(("values", n), problem, f"one value for each of {', '.join(factor.all_keys)}, or one for all")
    for position, part in enumerate(value):
        settable(part, ("values", n, position))
    return tuple(value)


def settable(value: Any, path: tuple[str | int, ...]) -> None:
    """Raises Refusal for a value that --set does not take: it takes texts, numbers, true and false, and flat lists of them."""
    for part in value if isinstance(value, list) else [value]:
        if not isinstance(part, str | int | float | bool):
            raise Refusal(
                path, f"{shown(part)} is not a value of a factor", "texts, numbers, true or false, or lists of them"
            )
        if isinstance(part, float) and not math.isfinite(part):
            raise Refusal(path, f"{part} is not a number", "a finite one")
        if type(part) is int and abs(part) >= LARGEST:
            raise Refusal(path, f"{shown(part)} is too large", "a number below 2^63")


def _plain(row: tuple[Any, ...]) -> Any:
    """The value that represents a row: its one value, or the value that all its keys have, else all of them."""
    first = row[0]
    if all(type(value) is type(first) and value == first for value in row):
        return first
    return ", ".join(map(_label, row))


def _label(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _cells(plain: list[Any]) -> tuple[list[Cell], ColumnType, str | None]:
    """The values with the narrowest type that all of them allow."""
    types = {type(value) for value in plain}
    if types == {bool}:
        return plain, "BOOLEAN", None
    if types == {int}:
        return plain, "BIGINT", None
    if types <= {int, float}:
        return [float(value) for value in plain], "DOUBLE", None
    if types <= {int, str} and (kind := kind_of(plain)):
        cells: list[Cell] = [parse(kind, value) for value in plain]
        return cells, "DOUBLE" if kind.endswith("rate") else "BIGINT", kind
    return [_label(value) for value in plain], "VARCHAR", None


def kind_of(values: list[Any]) -> str | None:
    """The kind of quantity that all of them are, at least one with its unit; None if there is none."""
    if not any(isinstance(value, str) for value in values):
        return None
    return next((kind for kind in UNITS if all(_is(kind, value) for value in values)), None)


def _is(kind: str, value: Any) -> bool:
    try:
        return abs(parse(kind, value)) < LARGEST and (not isinstance(value, str) or has_unit(kind, value))
    except ValueError:
        return False


def _numbers(table: Range | Log, names: tuple[str, ...]) -> tuple[list[Decimal], str | None, bool]:
    """The numbers of a range in their base unit, the kind of quantity, and whether they are whole. Raises Refusal."""
    texts: list[Number] = [getattr(table, name) for name in names]
    kind = kind_of(texts)
    if kind is None and (text := next((value for value in texts if isinstance(value, str)), None)):
        raise Refusal(
            (), f"{shown(text)} is not a number, or has another unit than the others", 'as in from = "64B", to = "1KiB"'
        )
    numbers = [Decimal(str(parse(kind, value) if kind else value)) for value in texts]
    whole = not kind.endswith("rate") if kind else all(isinstance(value, int) for value in texts)
    return numbers, kind, whole


def _range(table: Range) -> list[Any]:
    (first, last, step), kind, whole = _numbers(table, ("from_", "to", "step"))
    if step <= 0 or last < first:
        raise Refusal(("range",), "the range is empty", "from <= to, and a step above 0")
    count = int((last - first) / step) + 1
    if count > MAX_VALUES:
        raise Refusal(("range",), f"the range has {count} values", f"at most {MAX_VALUES}")
    return [_written(first + n * step, kind, whole) for n in range(count)]


def _log(table: Log) -> list[Any]:
    (first, last), kind, whole = _numbers(table, ("from_", "to"))
    if first <= 0 or last <= first:
        raise Refusal(("log",), "the range is empty", "0 < from < to")
    ratio = float(last / first)
    middle = [Decimal(repr(float(first) * ratio ** (n / (table.points - 1)))) for n in range(1, table.points - 1)]
    values = [_written(value, kind, whole) for value in (first, *middle, last)]
    if len(set(values)) < len(values):
        raise Refusal(
            ("log", "points"), f"{table.points} points, but the range has fewer whole numbers", "fewer points"
        )
    return values


def _written(value: Decimal, kind: str | None, whole: bool) -> Any:
    """The value as a scenario writes it."""
    if whole:
        number: int | float = int(value.to_integral_value())
    else:
        number = float(f"{value:.{_FLOAT_DIGITS}g}")
    return write(kind, number) if kind else number


def _geometric(cells: list[Cell]) -> bool:
    """Three or more numbers above 0, each about the same multiple, 1.5 or more, of the one before."""
    numbers = [cell for cell in cells if isinstance(cell, int | float) and not isinstance(cell, bool) and cell > 0]
    if len(cells) < 3 or len(numbers) < len(cells):
        return False
    ratios = [b / a for a, b in itertools.pairwise(numbers)]
    return min(ratios) >= 1.5 and max(ratios) <= 1.3 * min(ratios)
