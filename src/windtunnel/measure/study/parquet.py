"""Rows into a Parquet file, through DuckDB, whole or not at all.

DuckDB reads them from a file of JSON lines: an INSERT of 130 columns takes it 5 ms a row, this a quarter of one.
"""

import glob
import json
import math
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from windtunnel.errors import UserError
from windtunnel.measure.study.locked import first_line
from windtunnel.runs.files import replacing


def write(file: Path, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[Any]]) -> None:
    """`columns`: names and DuckDB types, as many as a row has cells. Raises UserError where it cannot be written."""
    names = [name for name, _ in columns]
    if len(names) > len({name.lower() for name in names}):
        raise UserError(f"{file}: two columns have the same name", remedy="names of their own: select a as b")
    types = ", ".join(f"{_text(name)}: {_text(kind)}" for name, kind in columns)
    lines = file.with_name(f".{file.name}.json")
    try:
        with replacing(file) as temporary:
            lines.write_text("".join(_line(names, row) for row in rows), encoding="utf-8")
            source = f"read_json({_text(glob.escape(str(lines)))}, columns = {{{types}}}, format = 'newline_delimited')"
            duckdb.execute(f"COPY (SELECT * FROM {source}) TO {_text(str(temporary))} (FORMAT parquet)")
    except duckdb.Error as error:
        raise UserError(f"{file}: cannot be written: {first_line(error)}") from error
    finally:
        lines.unlink(missing_ok=True)


def _line(names: Sequence[str], row: Sequence[Any]) -> str:
    cells = {name: _plain(value) for name, value in zip(names, row, strict=True)}
    return json.dumps(cells, default=str) + "\n"


def _plain(value: Any) -> Any:
    """What JSON has no number or text for, as DuckDB writes it."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value.isoformat() if isinstance(value, datetime) else value


def _text(words: str) -> str:
    """A text as SQL takes it."""
    return "'" + words.replace("'", "''") + "'"
