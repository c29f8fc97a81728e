"""Every run, study, search, comparison and tuning below one directory, in a DuckDB file that may be deleted: it is made again."""

import contextlib
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from windtunnel.errors import UserError
from windtunnel.index import notes
from windtunnel.index.find import where
from windtunnel.index.look import KINDS, look

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
_SHAPE = 5
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
        self._base = _opened(self.directory, cache or default_cache())
        self._base.execute(_TABLES)
        self.left: int | None = None
        """Directories that are still to be read; None: never begun."""
        self.ending = False
        """A refresh is to end early."""

    def refresh(self, reading: Callable[[int], None] = lambda left: None) -> None:
        """Reads what is new or has changed, and forgets what is gone. `reading` is told before each how many there are still."""
        with self._lock:
            known = dict(self._base.execute("SELECT path, stamp FROM entries").fetchall())
        found = {}
        for file in files_below(self.directory):
            with contextlib.suppress(OSError):  # removed meanwhile
                found[os.path.relpath(file, self.directory)] = _stamp(file)
        with self._lock:
            for table in ("entries", "facts", "readings"):
                self._base.executemany(
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
        with self._lock:
            self._base.execute("CHECKPOINT")

    def _put(self, path: str, stamp: str, known: bool) -> None:
        """`known`: the index has it, as it was."""
        entry = look(self.directory / path)
        *listed, facts, of = (getattr(entry, field.name) for field in fields(entry))
        with self._lock:
            self._replace("entries", path, stamp, *listed)
            self._replace_facts(_harmless(path), facts, known)
            if of is None:
                self._base.execute("DELETE FROM readings WHERE path = ?", [_harmless(path)])
            else:
                self._replace("readings", path, *astuple(of))

    def _replace(self, table: str, *row: Any) -> None:
        values = [_harmless(value) if isinstance(value, str) else value for value in row]
        self._base.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(values))})", values)

    def _replace_facts(self, path: str, facts: dict[str, str | float], known: bool) -> None:
        if known:  # there is no index over them: a look at all of them
            self._base.execute("DELETE FROM facts WHERE path = ?", [path])
        numbers = [value if isinstance(value, int | float) else None for value in facts.values()]
        texts = [_harmless(value) if isinstance(value, str) else None for value in facts.values()]
        names = [_harmless(name) for name in facts]
        self._base.execute(
            "INSERT INTO facts SELECT ?, unnest(?::VARCHAR[]), unnest(?::DOUBLE[]), unnest(?::VARCHAR[])",
            [path, names, numbers, texts],
        )

    def find(self, text: str = "", sort: str = "date", descending: bool = True) -> tuple[int, list[Row]]:
        """How many there are, and the first of them. Raises UserError for a search that cannot be read."""
        found = where(text)
        order = f"{SORTS.get(sort, SORTS['date'])} {'DESC' if descending else 'ASC'} NULLS LAST, path"
        columns = "path, kind, title, host, verdict, started, problem, responses_per_s, p50, p99, tags, note"
        query = f"SELECT count(*) OVER (), {columns} FROM entries WHERE {found.sql} ORDER BY {order} LIMIT {SHOWN}"
        with self._lock:
            try:
                rows = self._base.execute(query, found.parameters).fetchall()
            except duckdb.OutOfMemoryException:
                raise UserError(
                    f"this search takes more than the {MEMORY} that it may have",
                    remedy="fewer conditions, or a directory with fewer runs",
                ) from None
        return (int(rows[0][0]) if rows else 0), [Row(*row[1:]) for row in rows]

    def take(self, path: str) -> None:
        """Reads one run again, whose notes have changed."""
        self._put(path, _stamp(self.directory / path), known=True)

    def histories(self, scenario: str | None = None) -> list[Listed]:
        """The one with the newest run first; with `scenario` those of this key alone."""
        query = f"""SELECT history, arg_max(title, started), arg_max(host, started), count(*), max(started)
            FROM readings JOIN entries USING (path) {"WHERE scenario = ?" if scenario else ""}
            GROUP BY history ORDER BY max(started) DESC, history"""
        with self._lock:
            rows = self._base.execute(query, [scenario] if scenario else []).fetchall()
        return [Listed(*row) for row in rows]

    def history_of(self, path: str) -> str | None:
        """The key of the history of an indexed run; None for another path."""
        with self._lock:
            found = self._base.execute("SELECT history FROM readings WHERE path = ?", [path]).fetchone()
        return found[0] if found else None

    def readings(self, history: str) -> list["Reading"]:
        """Of the runs of a history; the index has all that it needs of them."""
        from windtunnel.measure.history.kept import from_text

        with self._lock:
            rows = self._base.execute(
                "SELECT reading FROM readings WHERE history = ? ORDER BY path", [history]
            ).fetchall()
        return [from_text(text) for (text,) in rows]

    def run_directory(self, path: str) -> Path | None:
        """The directory of an indexed run; None for whatever else a browser names, so that no path leads out of the directory."""
        with self._lock:
            known = self._base.execute("SELECT 1 FROM entries WHERE path = ? AND kind = 'run'", [path]).fetchone()
        where_ = (self.directory / path).parent
        if known is None or not where_.resolve().is_relative_to(self.directory):
            return None
        return where_

    def close(self) -> None:
        with self._lock:
            self._base.close()


def files_below(directory: Path) -> Iterator[Path]:
    """Records of runs and the like, at most MOST_FILES of them. No link is followed."""
    count = 0
    for where_, names, files in os.walk(directory):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in KINDS.keys() & set(files):
            yield Path(where_, name)
            count += 1
            if count >= MOST_FILES:
                return


def _stamp(file: Path) -> str:
    """Of a record and of the notes beside it. Raises OSError where the record is gone."""
    stamps = [file.lstat()]
    with contextlib.suppress(FileNotFoundError):
        stamps.append((file.parent / notes.NAME).lstat())
    return " ".join(f"{about.st_mtime_ns} {about.st_size}" for about in stamps)


def default_cache() -> Path:
    """~/.cache/windtunnel/ui, or below XDG_CACHE_HOME."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "windtunnel" / "ui"


def _opened(directory: Path, cache: Path) -> Any:
    """The file of this directory; in memory where it cannot be had, or another process has it."""
    name = hashlib.sha256(f"{_SHAPE} {directory}".encode(errors="surrogateescape")).hexdigest()[:16]
    file = cache / f"{name}.duckdb"
    settings: dict[str, str | bool | int | float | list[str]] = {"threads": "1", "memory_limit": MEMORY}
    try:
        cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            return duckdb.connect(str(file), config=settings)
        except duckdb.IOException as error:
            if "lock" in str(error).lower():
                raise
            file.unlink(missing_ok=True)  # damaged
            return duckdb.connect(str(file), config=settings)
    except (OSError, duckdb.Error):
        return duckdb.connect(config=settings)


def _harmless(text: str) -> str:
    """A file's name need not be UTF-8; DuckDB's text is."""
    return text.encode("utf-8", "replace").decode()
