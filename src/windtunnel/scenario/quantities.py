"""Quantities with units, as a scenario writes them: "5s", "64KiB", "1.5Mpps".

Grammar: digits, at most one point with digits, an optional space, one unit of the kind, case as in the table. A value is
exact: "0.1B" is refused, not rounded. Durations become nanoseconds, sizes bytes, rates messages a second.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import core_schema

from windtunnel.scenario.refusal import shown

UNITS: dict[str, dict[str, int]] = {
    "duration": {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9},
    "size": {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30},
    "rate": {"pps": 1, "kpps": 10**3, "Mpps": 10**6, "/s": 1, "k/s": 10**3, "M/s": 10**6},
    "bit rate": {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9},
    "count": {"": 1, "k": 10**3, "M": 10**6, "G": 10**9},
}
"""Kind -> unit -> factor; of units with the same factor the first one is written."""

BARE = {"size", "count"}
"""Kinds whose plain whole numbers are plain: bytes, and things."""

_NUMBER = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,30})?) ?([A-Za-z/]*)", re.ASCII)


def parse(kind: str, value: Any) -> int | float:
    """The value in the kind's base unit; rates are floats, everything else a whole number. Raises ValueError."""
    if kind in BARE and type(value) is int:
        return value
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} is not a {kind} in quotes{_with_unit(kind)}")  # noqa: TRY004 - what pydantic reports
    match = _NUMBER.fullmatch(value)
    if match is None or match[2] not in UNITS[kind]:
        raise ValueError(f"{shown(value)} is not a {kind}{_with_unit(kind)}")
    exact = Decimal(match[1]) * UNITS[kind][match[2]]
    if kind.endswith("rate"):
        return float(exact)
    if exact != int(exact):
        raise ValueError(f"{shown(value)} is not a whole number of {next(iter(UNITS[kind])) or 'things'}")
    return int(exact)


def _with_unit(kind: str) -> str:
    units = ", ".join(filter(None, UNITS[kind]))
    return f" with {'no unit or ' if kind in BARE else ''}one of {units}"


def write(kind: str, value: float) -> str:
    """The shortest text, without a point if possible, that `parse` turns back into exactly this value."""
    exact = Decimal(repr(value))
    texts = [(_plain(exact / factor), unit) for unit, factor in UNITS[kind].items()]
    good = [(number, unit) for number, unit in texts if _reads_back(kind, number + unit, value)]
    return "".join(min(good, key=lambda text: ("." in text[0], len(text[0]))))


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
        article = "whole bytes or a size" if self.kind == "size" else f"a {self.kind}"
        return f'{article} from "{self.low}" to "{self.high}"'

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self.read, serialization=core_schema.plain_serializer_function_ser_schema(lambda v: write(self.kind, v))
        )

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        units = "|".join(re.escape(unit) for unit in UNITS[self.kind] if unit)
        text = {"type": "string", "pattern": rf"^[0-9]+(\.[0-9]+)? ?({units}){'?' if self.kind in BARE else ''}$"}
        return {"anyOf": [text, {"type": "integer", "minimum": 0}]} if self.kind in BARE else text


def Duration(low: str, high: str) -> Any:
    """Type of a key in nanoseconds."""
    return Annotated[int, Quantity("duration", low, high)]


def Size(low: str, high: str) -> Any:
    """Type of a key in bytes."""
    return Annotated[int, Quantity("size", low, high)]


BitRate = Annotated[float, Quantity("bit rate", "1Mbps", "1000Gbps")]
"""Bits a second."""
Rate = Annotated[float, Quantity("rate", "0.001pps", "1000Mpps")]
"""Messages a second."""
AnyRate = Annotated[float, Quantity("rate", "0pps", "1000Mpps")]
"""Likewise, or none."""
