"""Quantities with units: "5s", "64KiB", "1.5Mpps". One grammar for scenarios, `--set` and the options of every command.

Grammar: digits, at most one point with digits, an optional space, a prefix, a unit; case as in the tables below. A rate, a
bit rate, a size and a count have one base unit each, so their unit may be left out: "2M", "2Mpps" and "2M/s" are the same
rate. A duration needs its unit. A value is exact: "0.1B" is refused, not rounded. Durations become nanoseconds, sizes
bytes, rates events per second, bit rates bits per second.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import core_schema

from windtunnel.engine.plan_values import LinkRate, bounds
from windtunnel.errors import UserError
from windtunnel.scenario.refusal import shown

UNITS: dict[str, dict[str, int]] = {
    "duration": {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9},
    "size": {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30},
    "rate": {"pps": 1, "kpps": 10**3, "Mpps": 10**6, "/s": 1, "k/s": 10**3, "M/s": 10**6},
    "bit rate": {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9},
    "count": {"": 1, "k": 10**3, "M": 10**6, "G": 10**9},
}
"""Kind -> unit as Windtunnel writes it -> factor. Of units with the same factor the first one is written."""

_SI = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
_READ: dict[str, dict[str, int]] = {
    "duration": UNITS["duration"],
    "size": UNITS["size"] | _SI | {"kB": 10**3, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30},
    "rate": {prefix + unit: factor for unit in ("pps", "/s", "rps", "") for prefix, factor in _SI.items()},
    "bit rate": UNITS["bit rate"] | _SI,
    "count": UNITS["count"],
}
"""Kind -> every unit that is read -> factor."""

EXAMPLES = {"duration": "500ms", "size": "64KiB", "rate": "2Mpps", "bit rate": "10Gbps", "count": "10k"}
BARE = {"size", "count", "rate", "bit rate"}
"""Kinds that have a base unit: their plain numbers need no unit."""

_NUMBER = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,30})?) ?([A-Za-z/]*)", re.ASCII)


def parse(kind: str, value: Any) -> int | float:
    """The value in the kind's base unit; rates are floats, everything else a whole number. Raises ValueError."""
    if kind in ("size", "count") and type(value) is int:
        return value
    text = _plain(Decimal(repr(value))) if kind.endswith("rate") and type(value) in (int, float) else value
    if not isinstance(text, str):
        raise ValueError(f"{shown(value)} is not a {kind} in quotes{_with_unit(kind)}")  # noqa: TRY004 - what pydantic reports
    match = _NUMBER.fullmatch(text)
    if match is None or match[2] not in _READ[kind]:
        raise ValueError(f"{shown(value)} is not a {kind}{_with_unit(kind)}")
    exact = Decimal(match[1]) * _READ[kind][match[2]]
    if kind.endswith("rate"):
        return float(exact)
    if exact != int(exact):
        raise ValueError(f"{shown(value)} is not a whole number of {next(iter(UNITS[kind])) or 'things'}")
    return int(exact)


def option(name: str, kind: str, text: str, low: str, high: str) -> int | float:
    """The quantity that a command-line option was given, between two others. Raises UserError that names the option."""
    try:
        return Quantity(kind, low, high).read(text)
    except ValueError as error:
        raise UserError(f"{name}: {error}", remedy=f"as in {name} {EXAMPLES[kind]}") from None


def has_unit(kind: str, text: str) -> bool:
    """Whether a text says by its unit that it is a quantity of this kind."""
    match = _NUMBER.fullmatch(text)
    return match is not None and match[2] in _READ[kind] and (match[2] not in _SI or kind == "count" and match[2] != "")


def _with_unit(kind: str) -> str:
    units = ", ".join(filter(None, UNITS[kind]))
    return f"; units: {units}{', or k, M, G alone' if kind.endswith('rate') else ''}"


def write(kind: str, value: float) -> str:
    """The shortest text, without a point if possible, that `parse` turns back into exactly this value."""
    exact = Decimal(repr(value))
    texts = [(_plain(exact / factor), unit) for unit, factor in UNITS[kind].items()]
    good = [(number, unit) for number, unit in texts if _reads_back(kind, number + unit, value)]
    number, unit = min(good, key=lambda text: ("." in text[0], len(text[0])))
    return number + unit


def _reads_back(kind: str, text: str, value: float) -> bool:
    try:
        return parse(kind, text) == value
    except ValueError:
        return False


def _plain(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@dataclass(frozen=True)
class Quantity:
    """Annotation of a key that takes a quantity between two others, both included."""

    kind: str
    low: str
    high: str

    def read(self, value: Any) -> int | float:
        base = parse(self.kind, value)
        if not parse(self.kind, self.low) <= base <= parse(self.kind, self.high):
            raise ValueError(f"{shown(value)} is not between {self.low} and {self.high}")
        return base

    def wanted(self) -> str:
        what = {"size": "whole bytes or a size"}.get(self.kind, f"a {self.kind}")
        return f'{what} from "{self.low}" to "{self.high}"'

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self.read, serialization=core_schema.plain_serializer_function_ser_schema(lambda v: write(self.kind, v))
        )

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        units = "|".join(re.escape(unit) for unit in _READ[self.kind] if unit)
        text = {"type": "string", "pattern": rf"^[0-9]+(\.[0-9]+)? ?({units}){'?' if self.kind in BARE else ''}$"}
        if self.kind not in BARE:
            return text
        return {"anyOf": [text, {"type": "number" if self.kind.endswith("rate") else "integer", "minimum": 0}]}


def Duration(low: str, high: str) -> Quantity:
    """Type of a key in nanoseconds: `Annotated[int, Duration("1us", "1h")]`."""
    return Quantity("duration", low, high)


def Size(low: str, high: str) -> Quantity:
    """Type of a key in bytes: `Annotated[int, Size("64B", "4MiB")]`."""
    return Quantity("size", low, high)


def within(kind: str, declared: Any) -> Quantity:
    """Type of a key that takes the range of a type that the plan declares: `Annotated[int, within("size", MessageBytes)]`."""
    low, high = (write(kind, limit) for limit in bounds(declared))
    return Quantity(kind, low, high)


BitRate = Annotated[float, within("bit rate", LinkRate)]
"""Bits a second."""
Rate = Annotated[float, Quantity("rate", "0.001pps", "1000Mpps")]
"""Messages per second."""
AnyRate = Annotated[float, Quantity("rate", "0pps", "1000Mpps")]
"""Likewise, or none."""
