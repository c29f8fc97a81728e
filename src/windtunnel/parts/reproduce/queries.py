"""Queries of a claim over what its commands have written."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from windtunnel.errors import UserError
from windtunnel.measure.study.sql import BOUNDS, first_line, lock
from windtunnel.parts.reproduce.claim import Claim


class Queries:
    """Of one claim."""

    def __init__(self, claim: Claim, place: str, connection: duckdb.DuckDBPyConnection):
        self._claim, self._place, self._connection = claim, place, connection

    def rows(self, what: str, sql: str, columns: Sequence[str]) -> list[dict[str, Any]]:
        """The rows of a query with at least these columns. Raises UserError if it fails, or lacks one; `what` names it there."""
        try:
            result = self._connection.execute(sql.replace("{place}", self._place))
            names, rows = [column[0] for column in result.description or ()], result.fetchall()
        except duckdb.Error as error:
            raise UserError(f'claim {self._claim.id}, "{what}": {first_line(error)}', remedy="mend its sql") from None
        if lacking := [column for column in columns if column not in names]:
            message = f'claim {self._claim.id}, "{what}": the query has no column "{lacking[0]}"'
            raise UserError(message, remedy=f"select ... as {lacking[0]}")
        return [dict(zip(names, row, strict=True)) for row in rows]


@contextmanager
def queries_of(claim: Claim, directory: Path) -> Iterator[Queries]:
    """They read files of the directory, and no others."""
    place = str(directory.resolve()).replace("'", "''")
    with duckdb.connect(config=dict(BOUNDS)) as connection:
        connection.execute(f"SET allowed_directories = ['{place}']")
        lock(connection)
        yield Queries(claim, place, connection)
