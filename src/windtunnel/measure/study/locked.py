"""DuckDB for what users write: one in memory, without files, network, extensions or Python's variables, for good."""

import duckdb

_LOCKS = (
    "SET enable_external_access = false",
    "SET python_enable_replacements = false",
    "SET lock_configuration = true",
)


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """From now on nothing is read but what is in the connection, nothing is written, and nobody can change that."""
    for statement in _LOCKS:
        connection.execute(statement)


def first_line(error: Exception) -> str:
    """DuckDB's complaint in one line, without its class."""
    words = str(error).strip().split("\n", 1)[0]
    return words.partition("Error: ")[2] or words


def candidates(error: duckdb.Error) -> str | None:
    """The names that DuckDB would have understood, where it says so."""
    marker = "Candidate bindings: "
    line = next((line for line in str(error).splitlines() if line.startswith(marker)), None)
    return line and f"columns like {line.removeprefix(marker).replace(chr(34), '')}"
