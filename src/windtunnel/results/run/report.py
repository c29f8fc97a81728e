"""The report of a run, in the run's directory."""

import dataclasses
from pathlib import Path

from windtunnel.measure.earlier import earlier
from windtunnel.results.page.files import REPORT
from windtunnel.results.page.renderer import render
from windtunnel.results.run.document import run_document
from windtunnel.runs import load
from windtunnel.runs.directories import held
from windtunnel.runs.files import replace


def write_run_report(run_dir: Path, place: Path | None = None) -> Path:
    """Writes report.html into the run directory from what is in it, and returns its path. `place`: of the directory, if the caller holds it
    open.

    Raises UserError if the directory is not a run's or cannot be written.
    """
    # the report is written into the directory that was read, whatever has its name by then
    with held(place or run_dir) as opened:
        run = dataclasses.replace(load(opened), path=run_dir)
        replace(opened / REPORT, render(run_document(run, earlier(run))))
    return run_dir / REPORT
