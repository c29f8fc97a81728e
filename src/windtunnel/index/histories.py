"""The histories below directories, from their indexes."""

import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.index.index import Index
from windtunnel.measure.compare.reading import Reading
from windtunnel.measure.history.history_record import Histories
from windtunnel.measure.history.judge import history
from windtunnel.printing import print_line
from windtunnel.stats.differences import LEVEL
from windtunnel.version import __version__


def histories(
    directories: Sequence[Path],
    scenario: str | None = None,
    by: str | None = None,
    only: Collection[str] | None = None,
    reading: Callable[[int], None] = lambda unread: None,
) -> Histories:
    """The histories of all scenarios below the directories, or with `scenario` of the one with this key, on each host; the one with the newest
    run first. `by` and `only` are those of `measure.history`, `reading` is that of the index. Raises UserError if there is no run, or none with
    the label."""
    of_history, left_out = _readings(directories, scenario, reading)
    if not of_history:
        below = " and ".join(map(str, directories))
        noun = "run" if scenario is None else "run of this scenario, with every key as it resolves here,"
        raise UserError(f"no {noun} below {below}", remedy="name a directory with runs: windtunnel history DIR")
    labels = {key for readings in of_history for run_reading in readings for key in run_reading.labels}
    if by is not None and by not in labels:
        raise UserError(
            f"--by {by}: no run has this label", remedy=f"labels here: {', '.join(sorted(labels)) or 'none'}"
        )
    judged = [history(readings, by, only) for readings in of_history]
    return Histories(
        made=datetime.now(UTC), windtunnel=__version__, by=by, level=LEVEL, left_out=left_out, histories=judged
    )


def _readings(
    directories: Sequence[Path], scenario: str | None, reading: Callable[[int], None]
) -> tuple[list[list[Reading]], int]:
    """The readings of each history, and how much could not be read, which is also said. A directory may be inside another one."""
    by_history: dict[str, dict[Path, Reading]] = {}
    left_out = 0
    for directory in directories:
        if not directory.is_dir():
            raise UserError(f"{directory}: no such directory", remedy="name a directory with runs below it")
        with closing(Index(directory)) as index:
            index.refresh(reading)
            if index.left_out:
                print_line(f"{directory}: more is below it than is looked at: name a directory in it", to=sys.stderr)
            if not_read := index.not_read():
                path, problem = not_read[0]
                print_line(f"left out: {len(not_read)} below {directory}, as {path}: {problem}", to=sys.stderr)
            left_out += len(not_read) + index.left_out + index.too_large
            for listed in index.histories(scenario):
                by_path = by_history.setdefault(listed.key, {})
                by_path.update((run_reading.path, run_reading) for run_reading in index.readings(listed.key))
    return [list(by_path.values()) for by_path in by_history.values()], left_out
