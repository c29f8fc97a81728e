"""What A and B name: a run directory, a directory with runs below it, or a scenario file."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.measure.compare.reading import Reading, read
from windtunnel.scenario.load import check_name_of_text
from windtunnel.tree import leads_to_a_record_elsewhere, walk_whole

TAKES = "a run directory, a directory with runs below it, or a scenario file"


@dataclass(frozen=True)
class Side:
    """One of the two that are compared."""

    path: Path
    readings: list[Reading]


def are_scenarios(a: Path, b: Path) -> bool:
    """Whether both are files, to be run. Raises UserError if one alone is, and for files that are not named as what is run."""
    files = [path for path in (a, b) if path.is_file()]
    if len(files) == 1:
        other = b if files[0] == a else a
        error_text = (
            f"{files[0]} is a file and {other} is a directory"
            if other.exists()
            else f"{other}: no such file or directory"
        )
        raise UserError(error_text, remedy="two scenario files, which alternate, or runs on both sides")
    for file in files:
        check_name_of_text(file)
    return len(files) == 2


def sides(
    a: Path, b: Path, announce: Callable[[int, int], None] = lambda done, total: None, include_invalid: bool = False
) -> tuple[Side, Side]:
    """Reads the runs of both, with `include_invalid` also rejected metrics; `seen(done, of)` is called after each. Raises UserError
    if there are none, if the same run is on both sides, and for other files."""
    runs_by_side = [_runs(path) for path in (a, b)]
    shared = {path.resolve() for path in runs_by_side[0]} & {path.resolve() for path in runs_by_side[1]}
    if shared:
        raise UserError(
            f"{min(shared)} is on both sides",
            remedy="different runs on each side; of a comparison's own directory: windtunnel compare DIR/a DIR/b",
        )
    total, done = len(runs_by_side[0]) + len(runs_by_side[1]), 0
    read_sides = []
    for path, runs in zip((a, b), runs_by_side, strict=True):
        readings = []
        for run in runs:
            readings.append(read(run, include_invalid))
            done += 1
            announce(done, total)
        read_sides.append(Side(path, readings))
    return read_sides[0], read_sides[1]


def _runs(path: Path) -> list[Path]:
    """The run directories that are `path` or lie below it, by name."""
    if not path.exists():
        raise UserError(f"{path}: no such file or directory", remedy=TAKES)
    runs = sorted(_below(path))
    if not runs:
        raise UserError(f"{path}: contains no run: no run.json", remedy=TAKES)
    return runs


def _below(path: Path) -> Iterator[Path]:
    """The run directories below a directory. Nothing below a run is looked at, and no link is followed. Raises UserError for a link to a run
    elsewhere, which would be left out without a word."""
    for directory, inner, files in walk_whole(path):
        for link in (directory / name for name in inner if (directory / name).is_symlink()):
            if leads_to_a_record_elsewhere(link, path, ("run.json",)):
                raise UserError(
                    f"{link}: a link to a run, which is not followed", remedy="copy the run, or remove the link"
                )
        if "run.json" in files:
            inner.clear()
            yield directory
