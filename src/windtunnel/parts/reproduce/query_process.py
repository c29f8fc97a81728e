"""The process in which a claim's queries run, with bounds that hold.

A claim may come from elsewhere, and so may the files that it reads. DuckDB does not count all the memory that a text takes, and looks for an
interrupt between its vectors alone: so the kernel bounds what this process has, and whoever has asked may kill it.

It reads a query a line from its standard input, [sql, [column, ...]] as JSON, and writes for each a line with these columns of its rows, or with
an error.
"""

import json
import resource
import signal
import sys
from decimal import Decimal
from typing import Any

import duckdb

from windtunnel.measure.study.locked_sql import BOUNDS, first_line, lock

MOST_BYTES = 2 << 30
MOST_ROWS = 100_000
MOST_TEXT = 200
"""Characters of a text that are passed on."""


def main(place: str) -> None:
    """Responds to queries over the files of a directory, and no others. `place`: its name as an SQL text."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    with duckdb.connect(config=dict(BOUNDS)) as connection:
        connection.execute(f"SET allowed_directories = ['{place}']")
        lock(connection)
        for line in sys.stdin:
            print(json.dumps(_response(connection, *json.loads(line))), flush=True)


def _response(connection: duckdb.DuckDBPyConnection, sql: str, columns: list[str]) -> dict[str, Any]:
    """The rows of one SELECT, or the error. A column that it does not have is not among those of the rows."""
    try:
        if [statement.type for statement in connection.extract_statements(sql)] != [duckdb.StatementType.SELECT]:
            return {"error": "it is not one SELECT"}
        result = connection.execute(sql)
        names = [column[0] for column in result.description or ()]
        if twice := next((column for column in columns if names.count(column) > 1), None):
            return {"error": f'the query has the column "{twice}" twice'}
        rows = result.fetchmany(MOST_ROWS + 1)
    except (duckdb.Error, OverflowError, MemoryError) as error:
        return {"error": first_line(error)}
    if len(rows) > MOST_ROWS:
        return {"error": f"the query has more than {MOST_ROWS:,} rows"}
    places = {column: names.index(column) for column in columns if column in names}
    return {"rows": [{column: _plain(row[n]) for column, n in places.items()} for row in rows], "columns": list(places)}


def _plain(value: Any) -> Any:
    """A number, a text, true, false or null, as JSON has it."""
    if isinstance(value, Decimal):
        return float(value)
    return value if value is None or isinstance(value, bool | int | float) else str(value)[:MOST_TEXT]


if __name__ == "__main__":
    main(sys.argv[1])
