"""The report of a run, in the run's directory."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from windtunnel.measure.earlier import earlier
from windtunnel.results.page.files import REPORT, write_plotly
from windtunnel.results.page.renderer import render
from windtunnel.results.run.document import run_document
from windtunnel.runs import load
from windtunnel.runs.directories import held
from windtunnel.runs.files import replace


def write_run_report(run_dir: Path, plotly_file: str | None = None, place: Path | None = None) -> Path:
    """Writes report.html into the run directory from what is in it, and returns its path. `plotly_file`: where plotly.js is, relative to
    the report; None: in the report. `place`: of the directory, if the caller holds it open.

    Raises UserError if the directory is not a run's or cannot be written.
    """
    # the report is written into the directory that was read, whatever has its name by then
    with held(place or run_dir) as opened:
        run = dataclasses.replace(load(opened), path=run_dir)
        replace(opened / REPORT, render(run_document(run, earlier(run)), plotly_file))
    return run_dir / REPORT


def write_run_reports(run_dirs: Sequence[Path]) -> Iterator[Path]:
    """Writes one report after the other. Reports of runs that lie in one directory share the plotly.js that is written there,
    unless others may write there.

    Raises UserError as `write_run_report` does.
    """
    beside = Counter(run_dir.absolute().parent for run_dir in run_dirs)
    scripts = {parent: write_plotly(parent) for parent, count in beside.items() if count > 1}
    shared = {parent: f"../{script}" for parent, script in scripts.items() if script}
    for run_dir in run_dirs:
        yield write_run_report(run_dir, shared.get(run_dir.absolute().parent))
