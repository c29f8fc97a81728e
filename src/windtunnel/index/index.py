"""Every run, study, search, comparison and tuning below one directory, in a DuckDB file that may be deleted: it is rebuilt."""

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
from typing import TYPE_CHECKING, Any, Final

import duckdb

from windtunnel.engine import home
from windtunnel.errors import UserError
from windtunnel.index import notes
from windtunnel.index.entry import KINDS, Entry, read_entry
from windtunnel.index.find import where
from windtunnel.printing import print_line
from windtunnel.tree import leads_to_a_record_elsewhere, walk

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
MOST_TEXT = 1 << 10
"""Characters of a fact that are kept."""
MOST_FACTS = 5_000
"""Facts of one run that are kept; a run has some hundred."""
_COLUMNS = {
    "entries": "path, stamp, kind, title, question, host, verdict, started, problem, responses_per_s, p50, p99, tags, note",
    "facts": "path, name, number, text",
    "readings": "path, scenario, history, reading",
}
_SHAPE = 7
_TABLES = """CREATE TABLE IF NOT EXISTS entries (
path VARCHAR PRIMARY KEY, stamp VARCHAR, kind VARCHAR, title VARCHAR, question VARCHAR, host VARCHAR, verdict VARCHAR, started VARCHAR,
problem VARCHAR, responses_per_s DOUBLE, p50 DOUBLE, p99 DOUBLE,
tags VARCHAR, note VARCHAR);
CREATE TABLE IF NOT EXISTS facts (path VARCHAR, name VARCHAR, number DOUBLE, text VARCHAR);
CREATE TABLE IF NOT EXISTS readings (path VARCHAR PRIMARY KEY, scenario VARCHAR, history VARCHAR, reading VARCHAR)"""
"""Each fact has a row: 10,000 runs have a million, of which a search reads only the columns that it needs."""


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
    """A history in a list."""

    key: str
    title: str
    """The title of its newest run."""
    host: str
    runs: int
    newest: str
    """When its newest run began, UTC."""


class Index:
    """The index of one directory. Threads may share it."""

    TOO_LARGE: Final = "too large for the index, which stays as it is"

    def __init__(self, directory: Path, cache: Path | None = None):
        """`cache`: the directory of the file."""
        self.directory = directory.resolve()
        self._lock = threading.Lock()
        self._file = _file_of(self.directory, cache or home.cache_directory() / "index")
        self._base = _opened(self._file)
        self._named: dict[str, str] = {}
        """Name in the tables -> name of the file, which need not be UTF-8."""
        self.unread: int | None = None
        """Directories that are still to be read; None: no refresh has begun."""
        self.ending = False
        """Whether a refresh shall end early."""
        self.left_out = False
        """Whether the last refresh reached its limit below the directory."""
        self.unopened: list[tuple[str, str]] = []
        """Directories that the last refresh could not open or did not follow, at most MOST_FILES: path and problem."""
        self.too_large = False
        """Whether the runs take more memory than the index may have: it stays as it is."""

    @contextlib.contextmanager
    def _open(self) -> Iterator[Any]:
        """The connection, for one thread at a time. If the file is damaged, it is recreated empty, the next refresh fills it, and UserError is
        raised. If the memory does not suffice for the file, that is no damage: it is opened again, and UserError is raised. A statement that
        takes too much memory raises duckdb.OutOfMemoryException."""
        with self._lock:
            try:
                yield self._base
            except duckdb.OutOfMemoryException:
                raise
            except duckdb.Error as error:
                self._base.close()
                if lacking := _lacks_memory(error):
                    self.too_large = True
                else:
                    _throw_away(self._file, error)
                self._base = _opened(self._file)
                if lacking:
                    raise UserError(self.TOO_LARGE, "name a directory with fewer runs") from None
                raise UserError("the index was damaged, and is being made again", "load the page again") from None

    def refresh(self, reading: Callable[[int], None] = lambda unread: None) -> None:
        """Reads new and changed directories, and removes those that are gone. `reading` is called before each with the number of unread ones.
        An index that is too large is left as it is: the same runs would be read for ever."""
        if self.too_large:
            return
        with contextlib.suppress(UserError):  # damaged: the next one begins with an empty index
            try:
                self._refresh(reading)
            except duckdb.OutOfMemoryException:
                self.too_large = True
        if self.too_large:
            print_line(f"{self.directory}: {self.TOO_LARGE}", to=sys.stderr)

    def _refresh(self, reading: Callable[[int], None]) -> None:
        with self._open() as base:
            stamps = dict(base.execute("SELECT path, stamp FROM entries").fetchall())
        current = {}
        left_out: list[bool] = []
        unopened: list[tuple[str, str]] = []

        def note_unopened(place: Path, problem: str) -> None:
            if len(unopened) < MOST_FILES:
                unopened.append((_harmless(os.path.relpath(place, self.directory)), problem))

        for file in files_below(self.directory, lambda: left_out.append(True), note_unopened):
            with contextlib.suppress(OSError):  # removed meanwhile
                path = os.path.relpath(file, self.directory)
                current[_harmless(path)] = _stamp(file)
                self._named[_harmless(path)] = path
        self.left_out, self.unopened = bool(left_out), unopened
        with self._open() as base:
            for table in ("entries", "facts", "readings"):
                base.executemany(
                    f"DELETE FROM {table} WHERE path = ?", [[p] for p in stamps if p not in current] or [[""]]
                )
        fresh = [(path, stamp) for path, stamp in current.items() if stamps.get(path) != stamp]
        for done, (path, stamp) in enumerate(fresh):
            if self.ending:
                return
            self.unread = len(fresh) - done
            reading(self.unread)
            self._put(path, stamp, is_indexed=path in stamps)
            if done % CHECKPOINT_EVERY == CHECKPOINT_EVERY - 1:
                self._checkpoint()
        if fresh:
            self._checkpoint()
        self.unread = 0

    def _checkpoint(self) -> None:
        """Writes the changes to the file; until then they are in memory."""
        with self._open() as base:
            base.execute("CHECKPOINT")

    def _put(self, path: str, stamp: str, is_indexed: bool) -> None:
        """Puts a directory into the index. `is_indexed`: the index has an older entry of it."""
        entry = read_entry(self._file_at(path))
        try:
            self._keep(path, stamp, entry, is_indexed)
        except duckdb.OutOfMemoryException:
            small = Entry(entry.kind, Path(path).parent.name, problem="too large for the index")
            self._keep(path, stamp, small, is_indexed=True)

    def _keep(self, path: str, stamp: str, entry: Entry, is_indexed: bool) -> None:
        *listed, facts, history_row = (getattr(entry, field.name) for field in fields(entry))
        with self._open() as base:
            _replace(base, "entries", path, stamp, *listed)
            _replace_facts(base, path, facts, is_indexed)
            if history_row is None:
                base.execute("DELETE FROM readings WHERE path = ?", [path])
            else:
                _replace(base, "readings", path, *astuple(history_row))

    def find(self, text: str = "", sort: str = "date", descending: bool = True) -> tuple[int, list[Row]]:
        """The number of matches, and the first of them. Raises UserError for a malformed search."""
        clause = where(text)
        order = f"{SORTS.get(sort, SORTS['date'])} {'DESC' if descending else 'ASC'} NULLS LAST, path"
        columns = "path, kind, title, host, verdict, started, problem, responses_per_s, p50, p99, tags, note"
        query = f"SELECT count(*) OVER (), {columns} FROM entries WHERE {clause.sql} ORDER BY {order} LIMIT {SHOWN}"
        rows = self._rows(query, clause.parameters, "this search")
        return (int(rows[0][0]) if rows else 0), [Row(*row[1:]) for row in rows]

    def _rows(self, query: str, parameters: list[Any], what: str) -> list[tuple[Any, ...]]:
        """The rows of a query. Raises UserError if `what` takes too much memory."""
        try:
            with self._open() as base:
                rows: list[tuple[Any, ...]] = base.execute(query, parameters).fetchall()
        except duckdb.OutOfMemoryException:
            raise UserError(
                f"{what} takes more than the {MEMORY} that it may have",
                remedy="fewer conditions, or a directory with fewer runs",
            ) from None
        return rows

    def take(self, path: str) -> None:
        """Reads one run again, because its notes have changed."""
        self._put(path, _stamp(self._file_at(path)), is_indexed=True)

    def path_of(self, directory: Path) -> str:
        """The index's name of the run in a directory."""
        return _harmless(os.path.relpath(directory / "run.json", self.directory))

    def _file_at(self, path: str) -> Path:
        return self.directory / self._named.get(path, path)

    def histories(self, scenario: str | None = None) -> list[Listed]:
        """The histories, the one with the newest run first; with `scenario` only those of this key."""
        query = f"""SELECT history, arg_max(title, started), arg_max(host, started), count(*), max(started)
            FROM readings JOIN entries USING (path) {"WHERE scenario = ?" if scenario else ""}
            GROUP BY history ORDER BY max(started) DESC, history"""
        rows = self._rows(query, [scenario] if scenario else [], "the list of histories")
        return [Listed(*row) for row in rows]

    def not_read(self) -> list[tuple[str, str]]:
        """What is in no history because it cannot be read: runs and directories, each with its problem."""
        query = """SELECT path, problem FROM entries LEFT JOIN readings USING (path)
            WHERE kind = 'run' AND problem IS NOT NULL AND history IS NULL ORDER BY path"""
        runs = [(path, problem) for path, problem in self._rows(query, [], "the list of runs that cannot be read")]
        return runs + self.unopened

    def history_of(self, path: str) -> str | None:
        """The key of the history of an indexed run; None for another path."""
        rows = self._rows("SELECT history FROM readings WHERE path = ?", [path], "the history of a run")
        return rows[0][0] if rows else None

    def readings(self, history: str) -> list["Reading"]:
        """The readings of the runs of a history, from the index alone."""
        from windtunnel.measure.history.kept import from_text

        rows = self._rows("SELECT reading FROM readings WHERE history = ? ORDER BY path", [history], "this history")
        return [from_text(text) for (text,) in rows]

    def run_directory(self, path: str) -> Path | None:
        """The directory of an indexed run; None for any other path of a browser, so that no path leads out of the directory."""
        with self._open() as base:
            row = base.execute("SELECT 1 FROM entries WHERE path = ? AND kind = 'run'", [path]).fetchone()
        directory = self._file_at(path).parent
        if row is None or not directory.resolve().is_relative_to(self.directory):
            return None
        return directory

    def close(self) -> None:
        with self._lock:
            self._base.close()


def files_below(
    directory: Path,
    left_out: Callable[[], None] = lambda: None,
    shut: Callable[[Path, str], None] = lambda place, problem: None,
) -> Iterator[Path]:
    """Records of runs and the like, at most MOST_FILES of them, none deeper than `tree.MOST_DEPTH`; `left_out` is called if there are more. No
    link is followed. `shut` is called for a directory that cannot be opened, and for a link to a record's directory elsewhere."""
    count = 0
    for place, names, files in walk(
        directory, left_out=left_out, shut=lambda inner, error: shut(inner, error.strerror or str(error))
    ):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for link in (place / name for name in names if (place / name).is_symlink()):
            if leads_to_a_record_elsewhere(link, directory, KINDS):
                shut(link, "a link, which is not followed")
        for name in KINDS.keys() & set(files):
            yield place / name
            count += 1
            if count >= MOST_FILES:
                left_out()
                return


def _stamp(file: Path) -> str:
    """The times and sizes of a record, and of the windows and the notes beside it. Raises OSError if the record is gone."""
    stamps = [f"{file.name} {_time_and_size(file)}"]
    for name in ("windows.jsonl", notes.NAME):
        with contextlib.suppress(FileNotFoundError):
            stamps.append(f"{name} {_time_and_size(file.parent / name)}")
    return " ".join(stamps)


def _time_and_size(file: Path) -> str:
    about = file.lstat()
    return f"{about.st_mtime_ns} {about.st_size}"


def _file_of(directory: Path, cache: Path) -> Path:
    name = hashlib.sha256(f"{_SHAPE} {directory}".encode(errors="surrogateescape")).hexdigest()[:16]
    return cache / f"{name}.duckdb"


def _opened(file: Path) -> Any:
    """The database of a file, rebuilt if it is damaged or of another kind; in memory if it cannot be opened, or if another process has it."""
    try:
        home.make(file.parent)
        if any(os.path.lexists(path) and not home.is_own(path) for path in (file, _log_of(file))):
            _throw_away(file, "not a file of this user's")  # opening a FIFO would block
            if os.path.lexists(file):
                raise OSError(errno.EISDIR, "not a file")
        try:
            return _with_tables(duckdb.connect(str(file), config=SETTINGS))
        except duckdb.Error as error:
            if _lacks_memory(error) or (isinstance(error, duckdb.IOException) and "lock" in str(error).lower()):
                raise
            _throw_away(file, error)
            return _with_tables(duckdb.connect(str(file), config=SETTINGS))
    except (OSError, UserError, duckdb.Error):
        return _with_tables(duckdb.connect(config=SETTINGS))


def _with_tables(base: Any) -> Any:
    """The database with its tables. Raises duckdb.Error, with the connection closed, for tables of another shape."""
    try:
        base.execute(_TABLES)
        for table, columns in _COLUMNS.items():
            with contextlib.suppress(duckdb.OutOfMemoryException):  # the columns are there, with texts that are large
                base.execute(f"SELECT {columns} FROM {table} LIMIT 1").fetchall()
        return base
    except duckdb.Error:
        base.close()
        raise


def _lacks_memory(error: duckdb.Error) -> bool:
    """Also of an error after which the file has to be opened again, which a checkpoint without memory is: DuckDB has no type for it."""
    of_memory = ("failed to pin block", "failed to allocate", "out of memory", "could not allocate")
    return isinstance(error, duckdb.OutOfMemoryException) or (
        isinstance(error, duckdb.FatalException) and any(words in str(error).lower() for words in of_memory)
    )


def _throw_away(file: Path, why: object) -> None:
    print_line(f"the index {file} is made again: {str(why).splitlines()[0][:200]}", to=sys.stderr)
    for path in (file, _log_of(file)):
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def _log_of(file: Path) -> Path:
    """The write-ahead log of DuckDB."""
    return file.with_name(f"{file.name}.wal")


def _replace(base: Any, table: str, *row: Any) -> None:
    values = [_harmless(value) if isinstance(value, str) else value for value in row]
    base.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(values))})", values)


def _replace_facts(base: Any, path: str, facts: dict[str, str | float], is_indexed: bool) -> None:
    if is_indexed:  # facts have no index: this scans all of them
        base.execute("DELETE FROM facts WHERE path = ?", [path])
    first_facts = dict(itertools.islice(facts.items(), MOST_FACTS))
    numbers = [value if isinstance(value, int | float) else None for value in first_facts.values()]
    texts = [_harmless(value[:MOST_TEXT]) if isinstance(value, str) else None for value in first_facts.values()]
    names = [_harmless(name[:MOST_TEXT]) for name in first_facts]
    base.execute(
        "INSERT INTO facts SELECT ?, unnest(?::VARCHAR[]), unnest(?::DOUBLE[]), unnest(?::VARCHAR[])",
        [path, names, numbers, texts],
    )


def _harmless(text: str) -> str:
    """A text as UTF-8, as DuckDB needs it. A file's name need not be: its other bytes are spelled out, so that names stay distinct."""
    return text.encode("utf-8", "surrogatepass" if _is_lone(text) else "surrogateescape").decode(
        "utf-8", "backslashreplace"
    )


def _is_lone(text: str) -> bool:
    """Whether a text has a surrogate that represents no byte of a name, as JSON may have."""
    return any(0xD800 <= ord(character) <= 0xDFFF and not 0xDC80 <= ord(character) <= 0xDCFF for character in text)
