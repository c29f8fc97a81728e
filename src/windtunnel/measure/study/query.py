"""SQL over the results of studies: a view `results`, and nothing else that could be read or written."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import duckdb

from windtunnel.errors import UserError, as_argument
from windtunnel.measure.study import record as records
from windtunnel.measure.study.columns import COLUMNS, RUN
from windtunnel.measure.study.directory import RESULTS
from windtunnel.measure.study.locked_sql import BOUNDS, candidates, first_line, lock
from windtunnel.text_file import open_regular

MOST_ROWS, MOST_BYTES = 100_000, 1 << 28
"""A study's results have at most as many rows, and as much text if each row is written as JSON: a file of some KiB may hold gigabytes."""
RUN_DIRECTORY = re.compile(r"runs/[^/\0]{1,200}")
EXAMPLE = 'as in "select inflight, median(responses_per_s) from results where valid group by 1 order by 1"'


@dataclass(frozen=True)
class Response:
    """The table that a query returned."""

    columns: list[str]
    types: list[str]
    """DuckDB's types, one for each column."""
    rows: list[tuple[Any, ...]]

    def dicts(self) -> list[dict[str, Any]]:
        """One dictionary a row."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def query(sql: str, studies: Sequence[Path]) -> Response:
    """Runs one SELECT over the view `results`: the tables of these studies, below each other if there are several,
    with the name of the study's directory in the column `study`.

    Raises UserError for a study without results, and for what is not one SELECT that DuckDB understands.
    """
    with duckdb.connect(config=BOUNDS) as connection:
        for n, study in enumerate(studies):
            _take(connection, f"study{n}", study)
        tables = " UNION ALL BY NAME ".join(f"FROM study{n}" for n in range(len(studies)))
        try:
            connection.execute(f"CREATE VIEW results AS {tables}")
            lock(connection)
            statements = connection.extract_statements(sql)
            if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
                raise UserError("the query is not one SELECT", remedy=EXAMPLE)
            response = connection.execute(statements[0])
            heads = [(name, str(kind)) for name, kind, *_ in response.description]
            return Response([name for name, _ in heads], [kind for _, kind in heads], response.fetchall())
        except (duckdb.Error, OverflowError) as error:
            raise UserError(f"the query: {first_line(error)}", remedy=candidates(error) or EXAMPLE) from None


def all_rows(study: Path, kept: records.StudyRecord) -> list[dict[str, Any]]:
    """The table of a study, by point and repeat. Raises UserError as `query`, and for a table that is not of this record."""
    response = query("from results order by point, repeat", [study])
    types = dict(zip(response.columns, response.types, strict=True))
    missing = [name for name in (*RUN, *(factor.name for factor in kept.factors)) if name not in types]
    other = [name for name, kind in types.items() if name in COLUMNS and kind != COLUMNS[name][0]]
    rows = response.dicts()
    damaged = [] if missing else [row for row in rows if not _is_whole(row, kept)]
    if missing or other or damaged:
        problem = (
            f"no column {missing[0]}" if missing else f"another type of {other[0]}" if other else "other points or runs"
        )
        raise UserError(
            f"{study / RESULTS}: {problem}: it is not the table of {study / records.NAME}",
            remedy=f"windtunnel study {as_argument(study)} writes it again",
        )
    return rows


def _is_whole(row: dict[str, Any], kept: records.StudyRecord) -> bool:
    """Whether a row is of a point and a run of the study, with a level of each factor."""
    directory, levels = row["directory"], [row[factor.name] for factor in kept.factors]
    return (
        row["point"] in range(1, len(kept.points) + 1)
        and isinstance(directory, str)
        and RUN_DIRECTORY.fullmatch(directory) is not None
        and None not in (row.get("relaxed") or [])
        and not any(level is None or isinstance(level, float) and not isfinite(level) for level in levels)
    )


def _take(connection: duckdb.DuckDBPyConnection, name: str, study: Path) -> None:
    """The study's results as a table of this name."""
    records.read(study / records.NAME)
    file = study / RESULTS
    try:
        descriptor = open_regular(file, follow=False)
    except FileNotFoundError:
        remedy = f"windtunnel study {as_argument(study)} finishes the study and writes it"
        raise UserError(f"{study}: no {RESULTS} yet: the study is not finished", remedy=remedy) from None
    except OSError as error:
        raise UserError(
            f"{file}: cannot be read: {error.strerror}", remedy=f"windtunnel study {as_argument(study)} writes it again"
        ) from None
    source = f"read_parquet('/proc/self/fd/{descriptor}')"  # no character of a name is a pattern
    try:
        # no name of the file's columns can stand for the row
        size = f"SELECT count(*), sum(strlen(to_json(struct_pack(*COLUMNS(*)))::VARCHAR)) FROM (FROM {source} LIMIT {MOST_ROWS + 1})"
        rows, length = connection.execute(size).fetchall()[0]
        if rows > MOST_ROWS or (length or 0) > MOST_BYTES:
            raise UserError(
                f"{file}: more than {MOST_ROWS:,} rows or {MOST_BYTES >> 20} MiB of values",
                remedy=f"windtunnel study {as_argument(study)} writes it again",
            )
        connection.execute(f"CREATE TABLE {name} AS SELECT ? AS study, * FROM {source}", [study.resolve().name])
    except duckdb.Error as error:
        raise UserError(
            f"{file}: cannot be read: {first_line(error)}",
            remedy=f"windtunnel study {as_argument(study)} writes it again",
        ) from None
    finally:
        os.close(descriptor)
