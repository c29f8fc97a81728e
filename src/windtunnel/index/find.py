"""Translation of a user's search into SQL: words, and conditions on keys, metrics and labels, as in `echo p99 < 50us label.commit = 8fe5ed78`."""

import re
from dataclasses import dataclass
from typing import Any

from windtunnel.errors import UserError

UNITS = {
    "ns": 1.0,
    "us": 1e3,
    "µs": 1e3,
    "ms": 1e6,
    "s": 1e9,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "%": 0.01,
    "B": 1.0,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
}
"""Latencies and times are kept in ns, rates per second, shares from 0 to 1, sizes in bytes."""
_CONDITION = re.compile(r"([A-Za-z_][\w.-]*)\s*(<=|>=|!=|=|<|>)\s*(\"[^\"]*\"|[^\s\"<>=!]+)")
_NUMBER = re.compile(r"([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*([A-Za-zµ%]*)")
COLUMNS = ("title", "host", "verdict", "started", "kind", "path")
"""Columns of text; any other name is a key of the scenario, a metric or a label."""
LISTED = ("responses_per_s", "p50", "p99")
"""Metrics of every list, each a column of numbers."""
LABEL = "label."
"""Prefix of a label's key. Labels are text, though they may look like numbers."""
MOST_CHARACTERS = 500


@dataclass(frozen=True)
class Clause:
    """A WHERE clause and its parameters."""

    sql: str
    parameters: list[Any]


def number_of(text: str) -> float | None:
    """A quantity with a unit of ours; None for other text."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None or (match[2] and match[2] not in UNITS):
        return None
    return float(match[1]) * UNITS.get(match[2], 1.0)


def where(text: str) -> Clause:
    """The clause of a search. Raises UserError for a malformed condition. No value of the text becomes SQL: each is a parameter."""
    if len(text) > MOST_CHARACTERS:
        raise UserError(f"a search of more than {MOST_CHARACTERS} characters", remedy="fewer words")
    parts, parameters = ["true"], []
    for name, operator, value in _CONDITION.findall(text):
        clause, more = _condition(name, operator, value.strip('"'))
        parts.append(clause)
        parameters += more
    rest = _CONDITION.sub(" ", text)
    if re.search(r"[<>=!]", rest):
        raise UserError(f'"{rest.strip()}" is no condition', remedy="as in p99 < 50us, or server.batch.app_rx = 64")
    for word in rest.split():
        parts.append(
            "contains(lower(concat_ws(' ', title, question, path, host, verdict, kind, tags, note)), lower(?))"
        )
        parameters.append(word.strip('"'))
    return Clause(" AND ".join(parts), parameters)


def _condition(name: str, operator: str, value: str) -> tuple[str, list[Any]]:
    if name == "tag":
        if operator not in ("=", "!="):
            raise UserError(
                f"tag {operator} {value}: a tag is there or not", remedy="tag = baseline, or tag != baseline"
            )
        return f"{'NOT ' if operator == '!=' else ''}contains(tags, ?)", [f" {value} "]
    if name in COLUMNS:
        return f"{name} {operator} ?", [value]
    if name in LISTED and (number_in_list := number_of(value)) is not None:
        return f"{name} {operator} ?", [number_in_list]
    number = None if name.startswith(LABEL) else number_of(value)
    if number is not None:
        return _fact("number", operator), [name, number]
    if operator not in ("=", "!="):
        if name.startswith(LABEL):
            raise UserError(f"{name} {operator} {value}: a label is text", remedy=f"{name} = {value}, or !=")
        raise UserError(f"{name} {operator} {value}: not a number with a unit", remedy=f"one of {', '.join(UNITS)}")
    return _fact("coalesce(text, CAST(number AS VARCHAR))", operator), [name, value]


def _fact(column: str, operator: str) -> str:
    return f"path IN (SELECT path FROM facts WHERE name = ? AND {column} {operator} ?)"
