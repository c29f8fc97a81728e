"""Rows into a Parquet file, through DuckDB, whole or not at all."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb

from windtunnel.errors import UserError
from windtunnel.measure.study.locked import first_line
from windtunnel.runs.files import replacing

_AT_ONCE = 50
"""Rows of one INSERT: DuckDB takes a millisecond for each statement, whatever it holds."""


def write(file: Path, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[Any]]) -> None:
    """`columns`: names and DuckDB types, as many as a row has cells. Raises UserError where it cannot be written."""
    with duckdb.connect(":memory:") as connection, replacing(file) as temporary:
        try:
            connection.execute(f"CREATE TABLE t ({', '.join(f'{quoted(name)} {kind}' for name, kind in columns)})")
            line = f"({', '.join('?' * len(columns))})"
            for start in range(0, len(rows), _AT_ONCE):
                some = rows[start : start + _AT_ONCE]
                connection.execute(f"INSERT INTO t VALUES {', '.join([line] * len(some))}", list(chain(*some)))
            target = str(temporary).replace("'", "''")
            connection.execute(f"COPY t TO '{target}' (FORMAT parquet)")
        except duckdb.Error as error:
            raise UserError(f"{file}: cannot be written: {first_line(error)}") from error


def quoted(name: str) -> str:
    """A name as SQL takes any."""
    return '"' + name.replace('"', '""') + '"'
