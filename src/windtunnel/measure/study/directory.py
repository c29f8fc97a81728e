"""A study's directory: who may write it, which of its runs are finished, and what happens to the others.

study.json       what the study is (see `record`)
.seal            which user's it is (see `seal`)
runs/            a run directory for each run: <point>-r<repeat>, and -a<attempt> if an invalid one was run again
aborted/         runs that were stopped before their end: kept, never counted
results.parquet  the table: one row a run and workload
report.html      made from the files above
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from windtunnel.engine import leftovers, own_lock
from windtunnel.engine.verdict import INTERRUPTED_BY_USER, NOT_WRITTEN, READER_LEFT
from windtunnel.errors import UserError, cannot_write, check_name
from windtunnel.measure.study import record as records
from windtunnel.measure.study import seal, sql
from windtunnel.measure.study.columns import COLUMNS, event_types
from windtunnel.measure.study.record import PointRecord, StudyRecord
from windtunnel.runs import Run, load
from windtunnel.runs.directories import make_missing
from windtunnel.runs.files import replace, sync_directory
from windtunnel.tree import walk_whole

LOCK = ".lock"
RESULTS = "results.parquet"
RUNS, ABORTED = "runs", "aborted"
CUT_SHORT = (INTERRUPTED_BY_USER, READER_LEFT, NOT_WRITTEN)
"""Beginnings of reasons that do not depend on the point: the run is repeated."""


@dataclass(frozen=True)
class Slot:
    """One run of the study: a point, which of its repeats, which attempt at it."""

    point: PointRecord
    repeat: int
    attempt: int = 1

    @property
    def name(self) -> str:
        again = f"-a{self.attempt}" if self.attempt > 1 else ""
        return f"{self.point.name}-r{self.repeat}{again}"


@contextmanager
def opened(path: Path, name: str = records.NAME, noun: str = "study") -> Iterator[None]:
    """Makes the directory if it is missing, and keeps others out while it is open. `name`: the record that makes it one, and
    `noun` what it is called. Raises UserError if another process runs this study, and for a directory that is something else, or has links
    in it: what is written there would be elsewhere."""
    check_name(path)
    try:
        make_missing(path)
        _not_foreign(path, name, noun)
        _without_links(path)
        lock = own_lock.open_own(path / LOCK)
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        try:
            own_lock.take(lock)
        except BlockingIOError:
            raise UserError(
                f"{path}: another process runs this {noun}", remedy="wait for its end, or stop it"
            ) from None
        yield
    finally:
        os.close(lock)


def _not_foreign(path: Path, name: str, noun: str) -> None:
    """Raises UserError for a directory with something in it that is no study; what a study killed at its first step left is one."""
    own = {name, LOCK, seal.NAME, *(f".{file_name}.tmp" for file_name in (name, seal.NAME))}
    if not (path / name).exists() and (there := {file.name for file in path.iterdir()} - own):
        raise UserError(
            f"{path}: exists already and is not a {noun}: it contains {min(there)}",
            remedy="choose a new directory with --out",
        )


def _without_links(path: Path) -> None:
    for place, directories, files in walk_whole(path):
        for entry in (place / name for name in (*directories, *files)):
            if entry.is_symlink():
                raise UserError(f"{entry}: a link, which is not followed", remedy="put what it leads to there")


def keep(path: Path, record: BaseModel, name: str = records.NAME) -> None:
    """Writes the record, and before it the seal that identifies its owner."""
    text = record.model_dump_json(indent=1) + "\n"
    if (seal_text := seal.seal_of(text)) is not None:
        replace(path / seal.NAME, seal_text)
    replace(path / name, text)


def finished(path: Path, slot: Slot) -> Run | None:
    """The run in this slot, if it came to its end; None if there is none. One that did not is moved to aborted/.

    Raises UserError for a run that is damaged.
    """
    directory = path / RUNS / slot.name
    if not directory.exists():
        return None
    run = _finished(directory)
    if run is None or is_cut_short(run):
        abort(path, directory)
        return None
    return run


def make_within(path: Path, name: str) -> None:
    """Makes a directory of the study's if it is missing. Raises UserError if it cannot be made, as where a file has the name."""
    try:
        (path / name).mkdir(exist_ok=True)
    except OSError as error:
        raise cannot_write(path / name, error) from error


def is_cut_short(run: Run) -> bool:
    """Whether the run was interrupted, or its directory could not be written."""
    return any(reason.startswith(CUT_SHORT) for reason in run.record.verdict.reasons)


def abort(path: Path, source: Path) -> None:
    """Moves a directory of runs to aborted/, under a name that is free there, and removes what their engines left elsewhere."""
    name, number = source.name, 2
    make_within(path, ABORTED)
    try:
        while (target := path / ABORTED / name).exists():
            name, number = f"{source.name}.{number}", number + 1
        os.rename(source, target)
        sync_directory(source.parent)
        sync_directory(path / ABORTED)
    except OSError as error:
        raise cannot_write(path / ABORTED, error) from error
    leftovers.remove_of_the_dead()


def _finished(directory: Path) -> Run | None:
    """None: its run.json was never written, or says that the run did not finish."""
    file = directory / "run.json"
    if not file.exists():
        return None
    run = load(directory)
    return run if run.record.finished else None


def latest(parent: Path) -> Path:
    """The study below `parent` that began last. Raises UserError if there is none."""
    studies = [(file.stat().st_mtime_ns, file.parent) for file in parent.glob(f"*/{records.NAME}")]
    if not studies:
        raise UserError(
            f"no study below {parent.absolute()}", remedy="name one, or run one: windtunnel study studies/inflight.toml"
        )
    return max(studies)[1]


def result_columns(record: StudyRecord) -> dict[str, str]:
    """Name -> DuckDB type, the factors' behind `reasons`, those of events at the end."""
    own = [(name, kind) for name, (kind, _) in COLUMNS.items()]
    split = list(COLUMNS).index("reasons") + 1
    factors = [(factor.name, factor.type) for factor in record.factors]
    return dict([*own[:split], *factors, *own[split:]]) | event_types(record.counters)


def write_results(path: Path, record: StudyRecord, rows: Sequence[dict[str, Any]]) -> Path:
    """Writes the table into the study's directory and returns its path. Raises UserError if it cannot."""
    types = result_columns(record)
    sql.write_parquet(path / RESULTS, list(types.items()), [[row[name] for name in types] for row in rows])
    return path / RESULTS
