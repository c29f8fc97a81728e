"""The directory of an export: tables written and read by DuckDB with columns that are named and typed, everything else copied."""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

import duckdb
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from windtunnel.engine.own_directory import for_temporary
from windtunnel.engine.windows import Window
from windtunnel.errors import UserError, cannot_write, check_name
from windtunnel.exchange.redacted import Redaction
from windtunnel.exchange.tables.fold import fold
from windtunnel.exchange.tables.shape import Table, tables
from windtunnel.exchange.tables.unfold import Row, rows
from windtunnel.runs import Record, Run, load
from windtunnel.runs.directories import held, making
from windtunnel.runs.files import LineFile, copy, mode_of_copy
from windtunnel.runs.files import replace as write
from windtunnel.runs.reader import MOST_WINDOWS_BYTES, record_of
from windtunnel.text_file import MOST_RECORD_BYTES, open_regular, parse_json, read_regular
from windtunnel.version import __version__

EXPORT_VERSION: Final = 2
MANIFEST, OTHERS = "export.json", "files"
FORMATS = ("csv", "parquet", "json")
_WRITE = {"csv": "FORMAT csv, HEADER", "parquet": "FORMAT parquet", "json": "FORMAT json"}
_MADE_AGAIN = {"run.json", "windows.jsonl", "report.html"}
BOUNDS: dict[str, str | bool | int | float | list[str]] = {"memory_limit": "1GB", "temp_directory": ""}
"""Configuration of DuckDB when it reads untrusted files."""
MOST_ROWS, MOST_TEXT, MOST_CELL = 10_000_000, 1 << 28, 1 << 20
"""Bounds of an export: rows of all its tables, bytes of the texts of one table, and of one text. Two hours of windows of 1 s are some 9,000,000
rows. JSON of a text takes twenty times its bytes."""
LEAST_ROWS = 10_000
"""A table may always have as many. Beyond them each row takes at least a byte of its file: ours have 2.6 in Parquet, 56 in CSV."""
ROWS_AT_ONCE = 1024
_WHICH = "name a directory that `windtunnel export` has left"


class Manifest(BaseModel):
    """export.json."""

    model_config = ConfigDict(extra="forbid")

    version: Literal[2] = EXPORT_VERSION
    windtunnel: str
    format: Literal["csv", "parquet", "json"]
    windows: bool = Field(description="whether the run had a windows.jsonl")
    tables: dict[str, dict[str, str]] = Field(description="table -> column -> type")
    files: list[str] = Field(description="names of the run's other files, copied into files/")


def export(run: Run, directory: Path, form: str, redaction: Redaction | None = None) -> Path:
    """Writes the run's tables and files into the new `directory`. With a `redaction`, secrets are replaced and files that are no text
    are left out. Raises UserError if they cannot be written; then no directory remains."""
    record = redaction.record(run.record) if redaction else run.record
    try:
        with held(run.path) as source, making(directory, mode_of_copy(source.stat())) as new:
            if record_of(source).started != run.record.started:
                raise UserError(f"{run.path}: another directory than the one that was read", remedy="export it again")
            _export(run, record, source, new, form, redaction)
    except OSError as error:
        raise cannot_write(directory, error) from error
    except duckdb.Error as error:
        raise UserError(f"{directory}: cannot be written: {_first_line(error)}") from error
    return directory


def restore(source: Path, directory: Path) -> Run:
    """Restores the run directory as the new `directory`. Raises UserError if the export is not whole; then no directory remains."""
    try:
        with held(source) as exported:
            manifest = _manifest(exported)
            with making(directory, mode_of_copy(exported.stat())) as new:
                _restore(manifest, exported, new)
                return replace(load(new), path=directory)
    except OSError as error:
        raise UserError(f"{error.filename or source}: {error.strerror}", remedy=_WHICH) from error


def _restore(manifest: Manifest, source: Path, directory: Path) -> None:
    copy(source / "run.json", directory / "run.json")
    if manifest.files:
        with held(source / OTHERS, follow=False) as other_files:
            for name in manifest.files:
                copy(other_files / name, directory / name)
    if manifest.windows:
        statuses = [(source / f"{name}.{manifest.format}").stat() for name in tables()]
        file = LineFile(directory / "windows.jsonl", mode_of_copy(*statuses))
        remaining = MOST_WINDOWS_BYTES
        for engine, window in _windows(source, manifest.format):
            line = json.dumps({"engine": engine} | window.model_dump(mode="json")) + "\n"
            remaining -= len(line)
            if remaining < 0:
                raise UserError(f"{source}: windows of more than {MOST_WINDOWS_BYTES >> 30} GiB", remedy=_WHICH)
            file.append(line)
        file.close()


def _export(run: Run, record: Record, source: Path, directory: Path, form: str, redaction: Redaction | None) -> None:
    other_files = directory / OTHERS
    other_files.mkdir()
    for file in sorted(source.iterdir()):
        if file.name in _MADE_AGAIN or file.is_dir():
            continue
        check_name(run.path / file.name)
        copied = other_files / (redaction.text(file.name) if redaction else file.name)
        copy(file, copied)
        if redaction and not redaction.file(copied):
            copied.unlink()
    mode = mode_of_copy((source / "run.json").stat())
    write(
        directory / "run.json", record.model_dump_json(indent=1) + "\n", mode
    )  # in this version's form, like the tables
    table_rows = (row for engine, windows in run.windows.items() for row in rows(engine, windows))
    if redaction:
        table_rows = (
            (table, {column: redaction.document(cell) for column, cell in row.items()}) for table, row in table_rows
        )
    has_windows = (source / "windows.jsonl").exists()
    _write_tables(directory, form, table_rows, mode_of_copy((source / "windows.jsonl").stat()) if has_windows else mode)
    manifest = Manifest(
        windtunnel=__version__,
        format=form,
        windows=has_windows,
        tables={name: {column.name: column.sql for column in table.all} for name, table in tables().items()},
        files=sorted(file.name for file in other_files.iterdir()),
    )
    write(directory / MANIFEST, manifest.model_dump_json(indent=1) + "\n")


def _write_tables(directory: Path, form: str, table_rows: Iterable[tuple[str, Row]], mode: int) -> None:
    with ExitStack() as stack:
        place = for_temporary()
        files = {
            name: stack.enter_context(tempfile.TemporaryFile("w", encoding="utf-8", dir=place)) for name in tables()
        }
        for name, row in table_rows:
            files[name].write(json.dumps(row) + "\n")
        database = stack.enter_context(duckdb.connect())
        for name, table in tables().items():
            files[name].flush()
            source = (
                f"read_json('{_path(files[name].fileno())}', format='newline_delimited', columns={_columns(table)})"
            )
            file = directory / f"{name}.{form}"
            with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as output:
                # written by descriptor: another file may take its name meanwhile
                options = _WRITE[form] + (_quoted(table) if form == "csv" else "") + ", USE_TMP_FILE false"
                database.execute(f"COPY (SELECT * FROM {source}) TO '{_path(output.fileno())}' ({options})")


def _windows(source: Path, form: str) -> Iterator[tuple[str, Window]]:
    """The windows, each with its engine's name."""
    with ExitStack() as stack:
        database = stack.enter_context(duckdb.connect(config=BOUNDS))  # one for all: each takes tens of ms to start
        by_table = {}
        remaining = MOST_ROWS
        for name, table in tables().items():
            count, by_table[name] = _table(stack, database, source, table, form, remaining)
            remaining -= count
        try:
            yield from fold(by_table)
        except UserError as error:
            raise UserError(f"{source}/{error.message}", remedy=_WHICH) from error


def _table(
    stack: ExitStack, database: duckdb.DuckDBPyConnection, directory: Path, table: Table, form: str, most_rows: int
) -> tuple[int, Iterator[Row]]:
    """The number of rows, and the rows. A file of some KiB may have gigabytes of rows or of texts, so they are counted first."""
    file = f"{table.name}.{form}"
    path = directory / file
    descriptor = open_regular(path, follow=False)
    stack.callback(os.close, descriptor)
    most_rows = min(most_rows, max(LEAST_ROWS, os.fstat(descriptor).st_size))
    select = _select(_path(descriptor), table, form, most_rows)
    lengths = [f'coalesce(strlen("{column.name}"), 0)' for column in table.all if column.sql == "VARCHAR"]
    total, longest = f"coalesce(sum({' + '.join(lengths)}), 0)", f"coalesce(max(greatest({', '.join(lengths)})), 0)"
    try:
        query = f"SELECT count(*), {total}, {longest} FROM ({select})"
        count, length, longest_cell = database.execute(query).fetchall()[0]
    except duckdb.Error as error:
        raise UserError(f"{path}: cannot be read: {_first_line(error)}", remedy=_WHICH) from error
    if count > most_rows:
        reason = f"more than {most_rows:,} rows, which an export of this size does not have"
        raise UserError(f"{path}: {reason}", remedy=_WHICH)
    if length > MOST_TEXT or longest_cell > MOST_CELL:
        raise UserError(f"{path}: too long texts", remedy=_WHICH)
    return count, _rows(stack.enter_context(database.cursor()), select, table, file)


def _rows(database: duckdb.DuckDBPyConnection, select: str, table: Table, file: str) -> Iterator[Row]:
    names = [column.name for column in table.all]
    number = 0
    try:
        result = database.execute(select)
        while batch := result.fetchmany(ROWS_AT_ONCE):
            for cells in batch:
                row = dict(zip(names, cells, strict=True))
                number += 1
                if any(row[key.name] is None for key in table.keys):
                    keys = ", ".join(key.name for key in table.keys)
                    raise UserError(f"{file}: row {number}: {keys} must all be there")
                yield row
    except duckdb.Error as error:
        raise UserError(f"{file}: cannot be read: {_first_line(error)}") from error


def _select(path: str, table: Table, form: str, most: int) -> str:
    """The query of all rows, limited to one more than `most`."""
    source = {
        "csv": f"read_csv('{path}', auto_detect=false, header=true, delim=',', quote='\"', escape='\"', "
        f"allow_quoted_nulls=false, columns={_columns(table)})",
        "parquet": f"read_parquet('{path}')",
        "json": f"read_json('{path}', format='newline_delimited', columns={_columns(table)})",
    }[form]
    typed = ", ".join(f'CAST("{column.name}" AS {column.sql}) AS "{column.name}"' for column in table.all)
    return f"SELECT {typed} FROM {source} LIMIT {most + 1}"


def _manifest(source: Path) -> Manifest:
    path = source / MANIFEST
    try:
        document = parse_json(read_regular(path, MOST_RECORD_BYTES), path)
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{source}: not an export, it has no {MANIFEST}", remedy=_WHICH) from None
    version = document.get("version") if isinstance(document, dict) else None
    if version != EXPORT_VERSION:
        raise UserError(
            f"{path}: export of version {version}, this windtunnel reads version {EXPORT_VERSION}",
            remedy="export the run directory again",
        )
    try:
        manifest = Manifest.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UserError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    for name in manifest.files:
        if not name:
            raise UserError(f"{path}: files: a name is empty")
        if Path(name).name != name or name in _MADE_AGAIN or "\0" in name:
            raise UserError(f"{path}: {name!r} is not the name of one of the run's other files")
    return manifest


def _columns(table: Table) -> str:
    return "{" + ", ".join(f"'{column.name}': '{column.sql}'" for column in table.all) + "}"


def _quoted(table: Table) -> str:
    """Texts are quoted, so that an empty text differs from null."""
    return ", FORCE_QUOTE (" + ", ".join(f'"{column.name}"' for column in table.all if column.sql == "VARCHAR") + ")"


def _path(descriptor: int) -> str:
    """The path for DuckDB: it reads the file that was opened, and no character of a name acts as a pattern."""
    return f"/proc/self/fd/{descriptor}"


def _first_line(error: duckdb.Error) -> str:
    return str(error).splitlines()[0]
