"""The directory of an export: tables written and read by DuckDB with columns that are named and typed, everything else copied."""

import json
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Literal

import duckdb
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from windtunnel.errors import UserError, cannot_write
from windtunnel.exchange.redacted import Redaction
from windtunnel.exchange.tables.fold import Fold
from windtunnel.exchange.tables.shape import Table, tables
from windtunnel.exchange.tables.unfold import Row, rows
from windtunnel.runs import Record, Run, load
from windtunnel.runs.files import LineFile, copy, replace
from windtunnel.runs.writer import make_directory
from windtunnel.text_file import parse_json, read_regular
from windtunnel.version import __version__

EXPORT_VERSION: Final = 2
"""1: columns of releases before 0.6.0, whose names have changed since."""
MANIFEST, OTHERS = "export.json", "files"
FORMATS = ("csv", "parquet", "json")
_WRITE = {"csv": "FORMAT csv, HEADER", "parquet": "FORMAT parquet", "json": "FORMAT json"}
_MADE_AGAIN = {"run.json", "windows.jsonl", "report.html"}
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
    """Writes the run's tables and files into the new `directory`. `redaction`: of what is not for others; files that are no text are left out
    then. Raises UserError where they cannot be; then nothing is left."""
    record = redaction.record(run.record) if redaction else run.record
    make_directory(directory)
    try:
        _export(run, record, directory, form, redaction)
    except (OSError, UserError, duckdb.Error) as error:
        shutil.rmtree(directory, ignore_errors=True)
        if isinstance(error, OSError):
            raise cannot_write(directory, error) from error
        if isinstance(error, duckdb.Error):
            raise UserError(f"{directory}: cannot be written: {str(error).splitlines()[0]}") from error
        raise
    return directory


def restore(source: Path, directory: Path) -> Run:
    """The run directory again, in the new `directory`. Raises UserError for what is no whole export; then nothing is left."""
    manifest = _manifest(source)
    if (source / OTHERS).is_symlink():
        raise UserError(f"{source / OTHERS}: a link, which is not followed", remedy=_WHICH)
    with duckdb.connect() as database:  # one for all: each takes tens of ms to start
        by_table = {name: _read_table(database, source, table, manifest.format) for name, table in tables().items()}
    try:
        windows = Fold(by_table).windows()
    except UserError as error:
        raise UserError(f"{source}: {error.message}", remedy=_WHICH) from error
    make_directory(directory)
    try:
        for name in ["run.json", *(f"{OTHERS}/{_bare(source, name)}" for name in manifest.files)]:
            copy(source / name, directory / Path(name).name)
        if manifest.windows:
            file = LineFile(directory / "windows.jsonl")
            for engine, window in windows:
                file.append(json.dumps({"engine": engine} | window.model_dump(mode="json")) + "\n")
            file.close()
        return load(directory)
    except (OSError, UserError) as error:
        shutil.rmtree(directory, ignore_errors=True)
        if isinstance(error, UserError):
            raise
        raise UserError(f"{error.filename or source}: {error.strerror}", remedy=_WHICH) from error


def _export(run: Run, record: Record, directory: Path, form: str, redaction: Redaction | None) -> None:
    (directory / OTHERS).mkdir()
    for name in sorted(f.name for f in run.path.iterdir() if not f.is_dir() and f.name not in _MADE_AGAIN):
        copied = directory / OTHERS / (redaction.text(name) if redaction else name)
        copy(run.path / name, copied)
        if redaction and not redaction.file(copied):
            copied.unlink()
    replace(directory / "run.json", record.model_dump_json(indent=1) + "\n")  # as this version has it, like the tables
    found = (row for engine, windows in run.windows.items() for row in rows(engine, windows))
    if redaction:
        found = ((table, {column: redaction.document(cell) for column, cell in row.items()}) for table, row in found)
    _write_tables(directory, form, found)
    manifest = Manifest(
        windtunnel=__version__,
        format=form,
        windows=(run.path / "windows.jsonl").exists(),
        tables={name: {column.name: column.sql for column in table.all} for name, table in tables().items()},
        files=sorted(file.name for file in (directory / OTHERS).iterdir()),
    )
    replace(directory / MANIFEST, manifest.model_dump_json(indent=1) + "\n")


def _write_tables(directory: Path, form: str, found: Iterable[tuple[str, Row]]) -> None:
    with ExitStack() as stack:
        spool = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="windtunnel-export-")))
        files = {name: stack.enter_context((spool / name).open("w", encoding="utf-8")) for name in tables()}
        for name, row in found:
            files[name].write(json.dumps(row) + "\n")
        for file in files.values():
            file.flush()
        database = stack.enter_context(duckdb.connect())
        for name, table in tables().items():
            source = f"read_json({_text(spool / name)}, format='newline_delimited', columns={_columns(table)})"
            target = directory / f"{name}.{form}"
            options = _WRITE[form] + (_quoted(table) if form == "csv" else "")
            database.execute(f"COPY (SELECT * FROM {source}) TO {_text(target)} ({options})")


def _read_table(database: duckdb.DuckDBPyConnection, directory: Path, table: Table, form: str) -> list[Row]:
    path = directory / f"{table.name}.{form}"
    if not path.is_file():
        raise UserError(f"{path}: missing", remedy=_WHICH)
    source = {
        "csv": f"read_csv({_text(path)}, auto_detect=false, header=true, delim=',', quote='\"', escape='\"', "
        f"allow_quoted_nulls=false, columns={_columns(table)})",
        "parquet": f"read_parquet({_text(path)})",
        "json": f"read_json({_text(path)}, format='newline_delimited', columns={_columns(table)})",
    }[form]
    names = [column.name for column in table.all]
    typed = ", ".join(f'CAST("{column.name}" AS {column.sql})' for column in table.all)
    try:
        found = database.execute(f"SELECT {typed} FROM {source}").fetchall()
    except duckdb.Error as error:
        raise UserError(f"{path}: cannot be read: {str(error).splitlines()[0]}", remedy=_WHICH) from error
    made = [dict(zip(names, row, strict=True)) for row in found]
    for number, row in enumerate(made, 1):
        if any(row[key.name] is None for key in table.keys):
            raise UserError(f"{path}: row {number}: {', '.join(k.name for k in table.keys)} must all be there")
    return made


def _manifest(source: Path) -> Manifest:
    path = source / MANIFEST
    try:
        document = parse_json(read_regular(path), path)
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{source}: not an export, it has no {MANIFEST}", remedy=_WHICH) from None
    version = document.get("version") if isinstance(document, dict) else None
    if version != EXPORT_VERSION:
        raise UserError(
            f"{path}: export of version {version}, this windtunnel reads version {EXPORT_VERSION}",
            remedy="export the run directory again: a run directory of any earlier release is read",
        )
    try:
        return Manifest.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UserError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def _bare(source: Path, name: str) -> str:
    """A plain file name, without a path."""
    if Path(name).name != name or name in _MADE_AGAIN:
        raise UserError(f"{source / MANIFEST}: {name!r} is not the name of one of the run's other files")
    return name


def _columns(table: Table) -> str:
    return "{" + ", ".join(f"'{column.name}': '{column.sql}'" for column in table.all) + "}"


def _quoted(table: Table) -> str:
    """Texts are quoted, so that an empty text differs from null."""
    return ", FORCE_QUOTE (" + ", ".join(f'"{column.name}"' for column in table.all if column.sql == "VARCHAR") + ")"


def _text(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
