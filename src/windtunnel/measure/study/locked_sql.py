"""A DuckDB connection that is shut for the SQL that users write, and its messages in one line."""

import duckdb

BOUNDS: dict[str, str | bool | int | float | list[str]] = {"memory_limit": "1GB", "temp_directory": ""}
"""Limits for reading the results of a study that somebody sent: a file of some KiB may have gigabytes."""
_LOCKS = (
    "SET enable_external_access = false",
    "SET python_enable_replacements = false",
    "SET lock_configuration = true",
)


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """Shuts a connection for what users write: from now on it reads no file, network, extension or Python variable, writes
    nothing, and cannot be opened again."""
    for statement in _LOCKS:
        connection.execute(statement)


def first_line(error: Exception) -> str:
    """DuckDB's message in one line, without its class."""
    message = str(error).strip().split("\n", 1)[0]
    return message.partition("Error: ")[2] or message


def candidates(error: Exception) -> str | None:
    """The names that DuckDB suggests, if it does."""
    marker = "Candidate bindings: "
    line = next((line for line in str(error).splitlines() if line.startswith(marker)), None)
    return line and f"columns like {line.removeprefix(marker).replace(chr(34), '')}"
