"""Runs a figure: block after block in random order, each row on disk before the next trial."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from dataclasses import replace as replaced
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args, get_origin

from pvcc.figure import Figure, Place
from pvcc.record import NAME, REPORT, TABLE, TRIALS, FigureRecord, drawn
from pvcc.site import Site
from pvcc.trials import Arm, Row
from windtunnel.api.errors import UserError
from windtunnel.api.files import LineFile, held, make_directory, own_directory, replace
from windtunnel.api.host import Interrupts, facts
from windtunnel.api.runs import sql, versions
from windtunnel_sharing.changed_threads import Journal, held_alone
from windtunnel_sharing.journal import directory as places_directory

Watcher = Callable[[int, int, str], None]
"""Called before each trial: its number, how many there are, its label."""
SCRATCH = "figure-"
"""Names begin so of the directories of trials, before the number of the process."""
_TYPES = {"int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN", "str": "VARCHAR"}


@dataclass(frozen=True)
class Blocks:
    """The numbers of the blocks that are run, from 1. A block has the same order and arrivals whichever others are run."""

    first: int
    last: int


@dataclass(frozen=True)
class FinishedFigure:
    path: Path
    figure: Figure
    record: FigureRecord
    rows: list[Row]


def run_figure(
    figure: Figure, site: Site, directory: Path, blocks: Blocks, seed: int, watcher: Watcher
) -> FinishedFigure:
    """Runs a figure into a new directory, judges it and writes its report.

    Ctrl-C stops the running trial; finished trials are judged and kept. Raises UserError for bad input, where the directory exists, and
    where no trial could run.
    """
    arms = {arm.label: arm for arm in figure.arms()}
    make_directory(directory)
    with held(directory, follow=False) as place:
        return replaced(_run(figure, arms, site, directory, place, blocks, seed, watcher), path=directory)


def _run(
    figure: Figure,
    arms: dict[str, Arm],
    site: Site,
    directory: Path,
    place: Path,
    blocks: Blocks,
    seed: int,
    watcher: Watcher,
) -> FinishedFigure:
    """`place`: the directory itself, whatever has its name by now."""
    record = FigureRecord(
        figure=figure.name,
        title=figure.title,
        quick=figure.quick,
        seed=seed,
        first_block=blocks.first,
        blocks=blocks.last - blocks.first + 1,
        order=drawn(list(arms), blocks.last, seed)[blocks.first - 1 :],
        tenant_cpu=site.tenant_cpu,
        client_cpu=site.client_cpu,
        setting=figure.points.setting() | figure.setting(),  # the figure says more of the same
        versions=versions(),
        host=facts.collect().model_dump(mode="json"),
        started=datetime.now(UTC),
        ended=None,
    )
    replace(place / NAME, record.model_dump_json(indent=1))
    lines = LineFile(place / TRIALS)
    try:
        rows = _run_all(figure, arms, record, site, lines, watcher)
    finally:
        lines.close()
    if not rows:
        why = record.failed[0] if record.failed else "stopped before the first trial"
        raise UserError(
            f"no trial could run: {why}", remedy=f"remove {directory}, which has no trials, and start again"
        )
    return finish(figure, place, record, rows)


def finish(figure: Figure, directory: Path, record: FigureRecord, rows: list[Row]) -> FinishedFigure:
    """Judges, and writes the table, the record and the report."""
    from pvcc.document import figure_document
    from windtunnel.api.documents import render

    record.ended = datetime.now(UTC)
    record.verdicts = figure.verdicts(rows)
    sql.write_parquet(directory / TABLE, _columns(figure.row), [row.cells() for row in rows])
    replace(directory / NAME, record.model_dump_json(indent=1))
    replace(directory / REPORT, render(figure_document(figure, record, rows)))
    return FinishedFigure(directory, figure, record, rows)


def _run_all(
    figure: Figure,
    arms: dict[str, Arm],
    record: FigureRecord,
    site: Site,
    lines: LineFile,
    watcher: Watcher,
) -> list[Row]:
    """The rows of the finished trials; failures and an interrupt go into the record."""
    rows: list[Row] = []
    first = record.first_block
    turns = [(b, p, label) for b, labels in enumerate(record.order, first) for p, label in enumerate(labels, 1)]
    before = (first - 1) * len(arms)  # trials of the blocks that are not run
    with Interrupts() as interrupts, _journal(figure, site) as journal:
        for number, (block, position, label) in enumerate(turns, 1):
            watcher(number, len(turns), label)
            with _scratch() as scratch:
                try:
                    place = Place(site, scratch, record.seed * 1_000_000 + before + number, interrupts, journal)
                    found = figure.run(arms[label], place)
                except UserError as error:
                    record.failed.append(f"block {block}, {label}: {error.message}")
                    if not rows and len(record.failed) == len(arms):
                        raise
                    continue
            if interrupts.count:  # the trial is incomplete, and makes no row
                record.interrupted = True
                break
            rows.append(figure.row(block=block, position=position, arm=label, **found))
            lines.append(rows[-1].model_dump_json() + "\n")
    return rows


def _journal(figure: Figure, site: Site) -> AbstractContextManager[Journal | None]:
    """One for all trials: the start of its guardian process would disturb a trial."""
    if not figure.shares:
        return nullcontext()
    return held_alone(places_directory() / f"figure-{os.getpid()}.journal", (site.tenant_cpu, site.client_cpu))


@contextmanager
def _scratch() -> Iterator[Path]:
    """A directory for one trial. It is never below the figure's, where another user may have a right to write: servers take their
    configuration from it, and with that code."""
    _remove_of_the_dead()
    scratch = own_directory.of_runtime() / f"{SCRATCH}{os.getpid()}"
    own_directory.make(scratch)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _remove_of_the_dead() -> None:
    for left in own_directory.of_runtime().glob(f"{SCRATCH}*"):
        if not Path("/proc", left.name.removeprefix(SCRATCH)).exists():
            shutil.rmtree(left, ignore_errors=True)


def _columns(row: type[Row]) -> list[tuple[str, str]]:
    return [(name, _sql(field.annotation)) for name, field in row.model_fields.items()]


def _sql(annotation: Any) -> str:
    if get_origin(annotation) is list:
        return f"{_sql(get_args(annotation)[0])}[]"
    words = getattr(annotation, "__name__", str(annotation))
    return next((sql for name, sql in _TYPES.items() if name in str(annotation) or name == words), "VARCHAR")
