"""The report of a run: one HTML file that needs no network."""

from pathlib import Path


def write(run_dir: Path) -> Path:
    """Write report.html into the run directory from what is in it, and return its path.

    Raises UserError where the directory is not a run's or cannot be written.
    """
    from windtunnel.report.page import render
    from windtunnel.runs import load
    from windtunnel.runs.files import replace

    run = load(run_dir)
    path = run.path / "report.html"
    replace(path, render(run))
    return path
