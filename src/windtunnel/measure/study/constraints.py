"""The points of a study: every combination of the factors' levels that meets the constraints, SQL expressions over the factors."""

import itertools
import json
import math
from collections.abc import Iterator
from typing import Any

import duckdb

from windtunnel.measure.study.factors import Factor
from windtunnel.measure.study.locked_sql import candidates, first_line, lock
from windtunnel.scenario.refusal import Refusal

MAX_PRODUCT = 100_000
MAX_POINTS = 5_000

FUNCTIONS = (
    *("+", "-", "*", "/", "//", "%", "**", "^", "&", "|", "<<", ">>", "~", "||", "~~", "!~~"),
    *(
        "abs",
        "ceil",
        "coalesce",
        "contains",
        "ends_with",
        "error",
        "exp",
        "floor",
        "greatest",
        "least",
        "length",
        "ln",
        "log",
        "log10",
        "log2",
    ),
    *("lower", "mod", "pow", "power", "prefix", "round", "sqrt", "starts_with", "suffix", "upper"),
)
"""What a constraint may call: nothing that makes many rows or a long text of a short one, because a study may come from elsewhere, and `--plan` is to
run nothing."""
CLASSES = ("BETWEEN", "CASE", "CAST", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "OPERATOR", "TYPE")
"""Classes of DuckDB's syntax tree that compute a value of a row from its cells."""

Combination = tuple[int, ...]
"""Positions in the levels of each factor."""

_EXAMPLE = 'a comparison of factors, as in "inflight >= batch"'
_NUMBER = '"#"'


def combinations(factors: list[Factor], constraints: list[str], most: int = MAX_POINTS) -> list[Combination]:
    """Combinations in the factors' order, the last one's levels changing fastest. Raises Refusal with its path in the study file, also for more
    points than `most`."""
    product = math.prod(len(factor.levels.members) for factor in factors)
    if product > MAX_PRODUCT:
        raise Refusal(
            ("factor",), f"{product:,} points", f"at most {MAX_PRODUCT:,} before the constraints: fewer values"
        )
    points = list(itertools.product(*(range(len(factor.levels.members)) for factor in factors)))
    if constraints:
        points = _within(factors, points, constraints)
    if len(points) > most:
        raise Refusal(("factor",), f"{len(points):,} points", f"at most {most:,}: fewer values, or constraints")
    return points


def _within(factors: list[Factor], points: list[Combination], constraints: list[str]) -> list[Combination]:
    kept = [True] * len(points)
    with duckdb.connect(":memory:") as connection:
        _fill(connection, factors)
        lock(connection)
        for n, constraint in enumerate(constraints):
            path = ("constraints", n)
            responses = _responses(connection, constraint, path)
            if None in responses:
                where = _describe_point(factors, points[responses.index(None)])
                raise Refusal(path, f'"{constraint}" is neither true nor false if {where}', _EXAMPLE)
            kept = [keeps and bool(response) for keeps, response in zip(kept, responses, strict=True)]
            if not any(kept):
                raise Refusal(path, f'no point meets "{constraint}"', "constraints that leave some")
    return [point for point, keeps in zip(points, kept, strict=True) if keeps]


def _fill(connection: duckdb.DuckDBPyConnection, factors: list[Factor]) -> None:
    """The table `points`: one row a combination, one column a factor, and the number of the row."""
    for n, factor in enumerate(factors):
        connection.execute(f'CREATE TABLE f{n} (i{n} INTEGER, "{factor.name}" {factor.levels.type})')
        rows = [[i, level.cell] for i, level in enumerate(factor.levels.members)]
        connection.executemany(f"INSERT INTO f{n} VALUES (?, ?)", rows)
    names = ", ".join(f'"{factor.name}"' for factor in factors)
    order = ", ".join(f"i{n}" for n in range(len(factors)))
    tables = ", ".join(f"f{n}" for n in range(len(factors)))
    connection.execute(
        f"CREATE TABLE points AS SELECT row_number() OVER (ORDER BY {order}) AS {_NUMBER}, {names} FROM {tables}"
    )


def _responses(connection: duckdb.DuckDBPyConnection, constraint: str, path: tuple[str, int]) -> list[bool | None]:
    """What the constraint says of each point. Raises Refusal if it is no boolean expression."""
    try:
        expression = duckdb.SQLExpression(constraint)
        if refused := next(
            (name for name in _parts(connection, constraint) if name not in (*CLASSES, *FUNCTIONS)), None
        ):
            raise Refusal(path, f'"{constraint}": {refused.lower()} is not for constraints', _EXAMPLE)
        responses = connection.table("points").project(duckdb.ColumnExpression("#"), expression.alias("keeps"))
        if str(responses.types[1]) != "BOOLEAN":
            problem = f'"{constraint}" is no comparison: it gives {str(responses.types[1]).strip(chr(34)).lower()}'
            raise Refusal(path, problem, _EXAMPLE)
        return [keeps for _, keeps in sorted(responses.fetchall(), key=lambda row: row[0])]
    except (duckdb.Error, ValueError, RuntimeError) as error:
        remedy = candidates(error) if isinstance(error, duckdb.Error) else None
        raise Refusal(path, f'"{constraint}": {first_line(error)}', remedy or _EXAMPLE) from None


def _parts(connection: duckdb.DuckDBPyConnection, constraint: str) -> Iterator[str]:
    """The classes of its syntax tree, and the names of what it calls. Raises duckdb.Error if it cannot be parsed."""
    [(text,)] = connection.execute("SELECT json_serialize_sql(?)", [f"SELECT {constraint} FROM points"]).fetchall()
    tree = json.loads(text)
    if tree["error"]:
        raise duckdb.ParserException(tree["error_message"])
    return _names(tree["statements"][0]["node"]["select_list"])


def _names(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for part in node:
            yield from _names(part)
    if isinstance(node, dict):
        if "class" in node:
            yield node["function_name"] if node["class"] == "FUNCTION" else node["class"]
        for part in node.values():
            yield from _names(part)


def _describe_point(factors: list[Factor], point: Combination) -> str:
    pairs = zip(factors, point, strict=True)
    return ", ".join(f"{factor.name} is {factor.levels.members[i].label}" for factor, i in pairs)
