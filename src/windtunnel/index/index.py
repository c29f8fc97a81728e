"""Every run, study, search, comparison and tuning below one directory, in a DuckDB file that may be deleted: it is made again."""

import contextlib
import errno
import hashlib
import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from windtunnel.engine import home
from windtunnel.errors import UserError
from windtunnel.index import notes
from windtunnel.index.find import where
from windtunnel.index.look import KINDS, Entry, look
from windtunnel.printing import print_line
from windtunnel.tree import walk

if TYPE_CHECKING:
    from windtunnel.measure.compare.reading import Reading

MOST_FILES = 100_000
CHECKPOINT_EVERY = 500
SHOWN = 200
"""Rows of one page."""
SORTS = {
    "date": "started",
    "title": "title",
    "host": "host",
    "verdict": "verdict",
    "rate": "responses_per_s",
    "p50": "p50",
    "p99": "p99",
}
MEMORY = "40MB"
SETTINGS: dict[str, str | bool | int | float | list[str]] = {"threads": "1", "memory_limit": MEMORY}
MOST_TEXT = 1 << 16
"""Characters of a value that are kept: of a reading, which is computed, all."""
MOST_FACTS = 5_000
"""Of one run, which has some hundred."""
_COLUMNS = {
    "entries": "path, stamp, kind, title, question, host, verdict, started, problem, responses_per_s, p50, p99, tags, note",
    "facts": "path, name, number, text",
    "readings": "path, scenario, history, reading",
}
_SHAPE = 6
_TABLES = """CREATE TABLE IF NOT EXISTS entries (
path VARCHAR PRIMARY KEY, stamp VARCHAR, kind VARCHAR, title VARCHAR, question VARCHAR, host VARCHAR, verdict VARCHAR, started VARCHAR,
problem VARCHAR, responses_per_s DOUBLE, p50 DOUBLE, p99 DOUBLE,
tags VARCHAR, note VARCHAR);
CREATE TABLE IF NOT EXISTS facts (path VARCHAR, name VARCHAR, number DOUBLE, text VARCHAR);
CREATE TABLE IF NOT EXISTS readings (path VARCHAR PRIMARY KEY, scenario VARCHAR, history VARCHAR, reading VARCHAR)"""
"""Facts have a row each: those of 10,000 runs are a million, of which a search reads the columns that it needs."""


@dataclass(frozen=True)
class Row:
    """One line of the page. `path` is relative to the directory; None: not measured."""

    path: str
    kind: str
    title: str
    host: str
    verdict: str
    started: str
    problem: str | None
    responses_per_s: float | None
    p50: float | None
    p99: float | None
    tags: str
    note: str


@dataclass(frozen=True)
class Listed:
    """A history among others."""

    key: str
    title: str
    """Of its newest run."""
    host: str
    runs: int
    newest: str
    """When that began, UTC."""


class Index:
    """Of one directory. Threads may share it."""

    def __init__(self, directory: Path, cache: Path | None = None):
        """`cache`: the directory of the file."""
        self.directory = directory.resolve()
        self._lock = threading.Lock()
        self._file = _file_of(self.directory, cache or home.cache_directory() / "ui")
        self._base = _opened(self._file)
        self._named: dict[str, str] = {}
        """The names of files by those that the tables have: not every one is UTF-8."""
        self.left: int | None = None
        """Directories that are still to be read; None: never begun."""
        self.ending = False
        """A refresh is to end early."""
        self.left_out = False
        """More is below the directory than the last refresh looked at."""

    @contextlib.contextmanager
    def _open(self) -> Iterator[Any]:
        """The connection, for one thread at a time. A file that turns out to be damaged is made anew, empty, and the next refresh fills it:
        raises UserError. What takes too much memory raises duckdb.OutOfMemoryException."""
        with self._lock:
            try:
                yield self._base
            except duckdb.OutOfMemoryException:
                raise
            except duckdb.Error as error:
                self._base.close()
                _throw_away(self._file, error)
                self._base = _opened(self._file)
                raise UserError("the index was damaged, and is being made again", "load the page again") from None

    def refresh(self, reading: Callable[[int], None] = lambda left: None) -> None:
        """Reads what is new or has changed, and forgets what is gone. `reading` is told before each how many there are still."""
        with contextlib.suppress(UserError):  # damaged: the next one begins with an empty index
            self._refresh(reading)

    def _refresh(self, reading: Callable[[int], None]) -> None:
        with self._open() as base:
            known = dict(base.execute("SELECT path, stamp FROM entries").fetchall())
        found = {}
        left_out: list[bool] = []
        for file in files_below(self.directory, lambda: left_out.append(True)):
            with contextlib.suppress(OSError):  # removed meanwhile
                path = os.path.relpath(file, self.directory)
                found[_harmless(path)] = _stamp(file)
                self._named[_harmless(path)] = path
        self.left_out = bool(left_out)
        with self._open() as base:
            for table in ("entries", "facts", "readings"):
                base.executemany(
                    f"DELETE FROM {table} WHERE path = ?", [[p] for p in known if p not in found] or [[""]]
                )
        fresh = [(path, stamp) for path, stamp in found.items() if known.get(path) != stamp]
        for done, (path, stamp) in enumerate(fresh):
            if self.ending:
                return
            self.left = len(fresh) - done
            reading(self.left)
            self._put(path, stamp, known=path in known)
            if done % CHECKPOINT_EVERY == CHECKPOINT_EVERY - 1:
                self._checkpoint()
        if fresh:
            self._checkpoint()
        self.left = 0

    def _checkpoint(self) -> None:
        """What was written is in memory until then."""
        with self._open() as base:
            base.execute("CHECKPOINT")

    def _put(self, path: str, stamp: str, known: bool) -> None:
        """`known`: the index has it, as it was."""
        entry = look(self._file_at(path))
        try:
            self._keep(path, stamp, entry, known)
        except duckdb.OutOfMemoryException:
            small = Entry(entry.kind, Path(path).parent.name, problem="too large for the index")
            self._keep(path, stamp, small, known=True)

    def _keep(self, path: str, stamp: str, entry: Entry, known: bool) -> None:
        *listed, facts, of = (getattr(entry, field.name) for field in fields(entry))
        listed = [value[:MOST_TEXT] if isinstance(value, str) else value for value in listed]
        with self._open() as base:
            _replace(base, "entries", path, stamp, *listed)
            _replace_facts(base, path, facts, known)
            if of is None:
                base.execute("DELETE FROM readings WHERE path = ?", [path])
            else:
                _replace(base, "readings", path, *astuple(of))

    def find(self, text: str = "", sort: str = "date", descending: bool = True) -> tuple[int, list[Row]]:
        """How many there are, and the first of them. Raises UserError for a search that cannot be read."""
        found = where(text)
        order = f"{SORTS.get(sort, SORTS['date'])} {'DESC' if descending else 'ASC'} NULLS LAST, path"
        columns = "path, kind, title, host, verdict, started, problem, responses_per_s, p50, p99, tags, note"
        query = f"SELECT count(*) OVER (), {columns} FROM entries WHERE {found.sql} ORDER BY {order} LIMIT {SHOWN}"
        try:
            with self._open() as base:
                rows = base.execute(query, found.parameters).fetchall()
        except duckdb.OutOfMemoryException:
            raise UserError(
                f"this search takes more than the {MEMORY} that it may have",
                remedy="fewer conditions, or a directory with fewer runs",
            ) from None
        return (int(rows[0][0]) if rows else 0), [Row(*row[1:]) for row in rows]

    def take(self, path: str) -> None:
        """Reads one run again, whose notes have changed."""
        self._put(path, _stamp(self._file_at(path)), known=True)

    def path_of(self, directory: Path) -> str:
        """How the index names the run there."""
        return _harmless(os.path.relpath(directory / "run.json", self.directory))

    def _file_at(self, path: str) -> Path:
        return self.directory / self._named.get(path, path)

    def histories(self, scenario: str | None = None) -> list[Listed]:
        """The one with the newest run first; with `scenario` those of this key alone."""
        query = f"""SELECT history, arg_max(title, started), arg_max(host, started), count(*), max(started)
            FROM readings JOIN entries USING (path) {"WHERE scenario = ?" if scenario else ""}
            GROUP BY history ORDER BY max(started) DESC, history"""
        with self._open() as base:
            rows = base.execute(query, [scenario] if scenario else []).fetchall()
        return [Listed(*row) for row in rows]

    def history_of(self, path: str) -> str | None:
        """The key of the history of an indexed run; None for another path."""
        with self._open() as base:
            found = base.execute("SELECT history FROM readings WHERE path = ?", [path]).fetchone()
        return found[0] if found else None

    def readings(self, history: str) -> list["Reading"]:
        """Of the runs of a history; the index has all that it needs of them."""
        from windtunnel.measure.history.kept import from_text

        with self._open() as base:
            rows = base.execute("SELECT reading FROM readings WHERE history = ? ORDER BY path", [history]).fetchall()
        return [from_text(text) for (text,) in rows]

    def run_directory(self, path: str) -> Path | None:
        """The directory of an indexed run; None for whatever else a browser names, so that no path leads out of the directory."""
        with self._open() as base:
            known = base.execute("SELECT 1 FROM entries WHERE path = ? AND kind = 'run'", [path]).fetchone()
        where_ = self._file_at(path).parent
        if known is None or not where_.resolve().is_relative_to(self.directory):
            return None
        return where_

    def close(self) -> None:
        with self._lock:
            self._base.close()


def files_below(directory: Path, left_out: Callable[[], None] = lambda: None) -> Iterator[Path]:
    """Records of runs and the like, at most MOST_FILES of them, none deeper than `tree.MOST_DEPTH`; `left_out` is told of more. No link is
    followed."""
    count = 0
    for place, names, files in walk(directory, left_out=left_out):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in KINDS.keys() & set(files):
            yield place / name
            count += 1
            if count >= MOST_FILES:
                left_out()
                return


def _stamp(file: Path) -> str:
    """Of a record and of the notes beside it. Raises OSError where the record is gone."""
    stamps = [file.lstat()]
    with contextlib.suppress(FileNotFoundError):
        stamps.append((file.parent / notes.NAME).lstat())
    return " ".join(f"{about.st_mtime_ns} {about.st_size}" for about in stamps)


def _file_of(directory: Path, cache: Path) -> Path:
    name = hashlib.sha256(f"{_SHAPE} {directory}".encode(errors="surrogateescape")).hexdigest()[:16]
    return cache / f"{name}.duckdb"


def _opened(file: Path) -> Any:
    """The file with its tables, made again if it is damaged or something else; in memory where it cannot be had, or another process has it."""
    try:
        home.make(file.parent)
        if any(os.path.lexists(path) and not home.is_own(path) for path in (file, _log_of(file))):
            _throw_away(file, "not a file of this user's")  # a FIFO would be waited for
            if os.path.lexists(file):
                raise OSError(errno.EISDIR, "not a file")
        try:
            return _with_tables(duckdb.connect(str(file), config=SETTINGS))
        except duckdb.Error as error:
            if isinstance(error, duckdb.IOException) and "lock" in str(error).lower():
                raise
            _throw_away(file, error)
            return _with_tables(duckdb.connect(str(file), config=SETTINGS))
    except (OSError, UserError, duckdb.Error):
        return _with_tables(duckdb.connect(config=SETTINGS))


def _with_tables(base: Any) -> Any:
    """Raises duckdb.Error, with the connection closed, for tables of another shape."""
    try:
        base.execute(_TABLES)
        for table, columns in _COLUMNS.items():
            base.execute(f"SELECT {columns} FROM {table} LIMIT 1").fetchall()
        return base
    except duckdb.Error:
        base.close()
        raise


def _throw_away(file: Path, why: object) -> None:
    print_line(f"the index {file} is made again: {str(why).splitlines()[0][:200]}", to=sys.stderr)
    for path in (file, _log_of(file)):
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def _log_of(file: Path) -> Path:
    """What DuckDB writes before the file."""
    return file.with_name(f"{file.name}.wal")


def _replace(base: Any, table: str, *row: Any) -> None:
    values = [_harmless(value) if isinstance(value, str) else value for value in row]
    base.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(values))})", values)


def _replace_facts(base: Any, path: str, facts: dict[str, str | float], known: bool) -> None:
    if known:  # there is no index over them: a look at all of them
        base.execute("DELETE FROM facts WHERE path = ?", [path])
    kept = dict(itertools.islice(facts.items(), MOST_FACTS))
    numbers = [value if isinstance(value, int | float) else None for value in kept.values()]
    texts = [_harmless(value[:MOST_TEXT]) if isinstance(value, str) else None for value in kept.values()]
    names = [_harmless(name[:MOST_TEXT]) for name in kept]
    base.execute(
        "INSERT INTO facts SELECT ?, unnest(?::VARCHAR[]), unnest(?::DOUBLE[]), unnest(?::VARCHAR[])",
        [path, names, numbers, texts],
    )


def _harmless(text: str) -> str:
    """A file's name need not be UTF-8; DuckDB's text is. What is none is spelled out, so that two names stay two."""
    return text.encode("utf-8", "surrogatepass" if _is_lone(text) else "surrogateescape").decode(
        "utf-8", "backslashreplace"
    )


def _is_lone(text: str) -> bool:
    """A surrogate that stands for no byte of a name, as JSON may have."""
    return any(0xD800 <= ord(character) <= 0xDFFF and not 0xDC80 <= ord(character) <= 0xDCFF for character in text)
