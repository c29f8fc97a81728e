"""The run that ran last."""

from pathlib import Path

from windtunnel.errors import UserError

RUNS = Path("runs")
"""Where `windtunnel run` puts runs that are given no directory."""


def latest(parent: Path = RUNS) -> Path:
    """The run directory below `parent` whose run.json was written last. Raises UserError where there is none."""
    records = [(record.stat().st_mtime_ns, record.parent) for record in parent.glob("*/run.json")]
    if not records:
        raise UserError(
            f"no run below {parent.absolute()}",
            remedy="name a run directory, or run one: windtunnel run scenarios/echo.toml",
        )
    return max(records)[1]
