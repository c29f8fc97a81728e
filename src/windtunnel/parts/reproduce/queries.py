"""Queries of a claim over what its commands have written."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any

import duckdb

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError
from windtunnel.measure.study.sql import BOUNDS, first_line, lock
from windtunnel.parts.reproduce.claim import Claim

MOST_ROWS, LOOK_S = 100_000, 0.1
PATTERN = "*?[{"
"""Characters of a path that DuckDB takes for a pattern."""


class Ended(Exception):
    """The user has ended a command, or a query."""


class Queries:
    """Of one claim."""

    def __init__(self, claim: Claim, place: str, connection: duckdb.DuckDBPyConnection, interrupts: Interrupts):
        self._claim, self._place, self._connection, self._interrupts = claim, place, connection, interrupts

    def rows(self, what: str, sql: str, columns: Sequence[str]) -> list[dict[str, Any]]:
        """The rows of a query with at least these columns. Raises UserError if it is more than a SELECT, fails, lacks one, or has more rows than
        MOST_ROWS; `what` names it there. Raises Ended."""
        names, rows = self._fetched(what, sql.replace("{place}", self._place))
        if lacking := [column for column in columns if column not in names]:
            raise self._fault(what, f'the query has no column "{lacking[0]}"', f"select ... as {lacking[0]}")
        if len(rows) > MOST_ROWS:
            raise self._fault(what, f"the query has more than {MOST_ROWS:,} rows", "aggregate")
        return [dict(zip(names, row, strict=True)) for row in rows]

    def numbers(self, what: str, row: Mapping[str, Any], columns: Sequence[str]) -> list[float]:
        """Finite numbers of a row. Raises UserError for any other value."""
        numbers = []
        for column in columns:
            value = row[column]
            if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or not isfinite(value):
                raise self._fault(what, f"a value of {column} is no finite number: {str(value)[:40]}", "mend its sql")
            numbers.append(float(value))
        return numbers

    def _fetched(self, what: str, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """In a thread: a query may have no end, and Ctrl-C ends it."""

        def fetch() -> tuple[list[str], list[tuple[Any, ...]]]:
            result = self._connection.execute(sql)
            return [column[0] for column in result.description or ()], result.fetchmany(MOST_ROWS + 1)

        try:
            statements = self._connection.extract_statements(sql)
            if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
                raise self._fault(what, "it is not one SELECT", "mend its sql")
            with ThreadPoolExecutor(1) as worker:
                fetching = worker.submit(fetch)
                while not wait([fetching], LOOK_S).done:
                    if self._interrupts.count:
                        self._connection.interrupt()
                return fetching.result()
        except duckdb.Error as error:
            if self._interrupts.count:
                raise Ended from None
            raise self._fault(what, first_line(error), "mend its sql") from None

    def _fault(self, what: str, why: str, remedy: str) -> UserError:
        return UserError(f'claim {self._claim.id}, "{what}": {why}', remedy=remedy)


@contextmanager
def queries_of(claim: Claim, directory: Path, interrupts: Interrupts) -> Iterator[Queries]:
    """They read files of the directory, and no others. Raises UserError for a directory whose name DuckDB would take for a pattern."""
    place = str(directory.resolve()).replace("'", "''")
    if any(character in place for character in PATTERN):
        raise UserError(f"{place}: its name has one of {PATTERN}", remedy="name another directory with --out")
    with duckdb.connect(config=dict(BOUNDS)) as connection:
        connection.execute(f"SET allowed_directories = ['{place}']")
        lock(connection)
        yield Queries(claim, place, connection, interrupts)
