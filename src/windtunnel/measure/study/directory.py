"""A study's directory: who may write it, which flights have landed in it, and where those go that did not.

study.json       what the study is (see `record`)
flights/         a run directory a flight: <point>-r<repeat>, and -a<attempt> where an invalid one was flown again
aborted/         flights that somebody or something ended before their time: kept, never counted
results.parquet  the table (see `table`)
report.html      made from the files above
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from windtunnel.engine import leftovers
from windtunnel.errors import UserError, check_name
from windtunnel.measure.study import record as records
from windtunnel.measure.study.record import PointRecord, StudyRecord
from windtunnel.runs import Run, load
from windtunnel.runs.files import cannot_write, replace, sync_directory
from windtunnel.runs.record import Record

LOCK = ".lock"
FLIGHTS, ABORTED = "flights", "aborted"
CUT_SHORT = ("stopped before the end: interrupted by the user", "run directory: ")
"""Beginnings of reasons that say nothing of the point: the flight is flown anew."""


@dataclass(frozen=True)
class Slot:
    """One flight of the study: a point, which of its repeats, which attempt at it."""

    point: PointRecord
    repeat: int
    attempt: int = 1

    @property
    def name(self) -> str:
        again = f"-a{self.attempt}" if self.attempt > 1 else ""
        return f"{self.point.name}-r{self.repeat}{again}"


@contextmanager
def opened(path: Path) -> Iterator[None]:
    """Makes the directory where it is not there, and keeps others out while it is open. Raises UserError where another
    process flies this study, and for a directory that is something else."""
    check_name(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        _not_foreign(path)
        lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"{path}: another process flies this study", remedy="wait for its end, or stop it"
            ) from None
        yield
    finally:
        os.close(lock)


def _not_foreign(path: Path) -> None:
    """Raises UserError for a directory with something in it that is no study; what a study killed at its first step left is one."""
    ours = {records.NAME, LOCK, f".{records.NAME}.tmp"}
    if not (path / records.NAME).exists() and (there := {file.name for file in path.iterdir()} - ours):
        raise UserError(
            f"{path}: exists already and is no study: it holds {min(there)}", remedy="choose a new directory with --out"
        )


def keep(path: Path, record: StudyRecord) -> None:
    """Writes study.json."""
    replace(path / records.NAME, record.model_dump_json(indent=1) + "\n")


def landed(path: Path, slot: Slot) -> Run | None:
    """The run of a flight that came to its end; None where there is none. One that did not is moved to aborted/.

    Raises UserError for a run that is damaged.
    """
    directory = path / FLIGHTS / slot.name
    if not directory.exists():
        return None
    run = _finished(directory)
    if run is None or is_cut_short(run):
        abort(path, slot)
        return None
    return run


def is_cut_short(run: Run) -> bool:
    """Whether somebody stopped the flight, or its directory could not hold it."""
    return any(reason.startswith(CUT_SHORT) for reason in run.record.verdict.reasons)


def abort(path: Path, slot: Slot) -> None:
    """Moves a flight's directory to aborted/, under a name that is free there, and removes what its engines left elsewhere."""
    source, name, number = path / FLIGHTS / slot.name, slot.name, 2
    try:
        (path / ABORTED).mkdir(exist_ok=True)
        while (target := path / ABORTED / name).exists():
            name, number = f"{slot.name}.{number}", number + 1
        os.rename(source, target)
        sync_directory(path / FLIGHTS)
        sync_directory(path / ABORTED)
    except OSError as error:
        raise cannot_write(path / ABORTED, error) from error
    for engine in _engines(target):
        leftovers.remove(engine.plan)


def _finished(directory: Path) -> Run | None:
    """None: its run.json was never written, or says that the flight did not finish."""
    file = directory / "run.json"
    if not file.exists():
        return None
    run = load(directory)
    return run if run.record.finished else None


def _engines(directory: Path) -> list:
    file = directory / "run.json"
    return Record.model_validate_json(file.read_bytes()).engines if file.exists() else []


def latest(parent: Path) -> Path:
    """The study below `parent` that began last. Raises UserError where there is none."""
    found = [(file.stat().st_mtime_ns, file.parent) for file in parent.glob(f"*/{records.NAME}")]
    if not found:
        raise UserError(
            f"no study below {parent.absolute()}", remedy="name one, or fly one: windtunnel study studies/inflight.toml"
        )
    return max(found)[1]
