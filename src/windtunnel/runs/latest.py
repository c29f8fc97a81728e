"""Runs by the time at which their records were written."""

from pathlib import Path
from stat import S_ISREG

from windtunnel.errors import UserError

RUNS = Path("runs")
"""The directory in which `windtunnel run` puts runs that are given none."""


def latest(parent: Path = RUNS) -> Path:
    """The run directory below `parent` whose run.json was written last. Raises UserError if there is none."""
    records = written(parent)
    if not records:
        raise UserError(
            f"no run below {parent.absolute()}",
            remedy="name a run directory, or run one: windtunnel run scenarios/echo.toml",
        )
    return max(records)[1]


def written(parent: Path) -> list[tuple[int, Path]]:
    """The run directories below `parent`, in no order, each after the time at which its run.json was written, ns."""
    times = []
    for record in parent.glob("[!.]*/run.json"):  # a hidden one is in no list either
        try:
            about = record.stat()
        except OSError:  # removed meanwhile, or a link to nowhere
            continue
        if S_ISREG(about.st_mode):
            times.append((about.st_mtime_ns, record.parent))
    return times
