"""Reports: one HTML file each, that needs no network. Those of several runs in a directory may share one file of plotly.js."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windtunnel.measure.compare.model import Comparison
    from windtunnel.pcie.sweep import Sweep
    from windtunnel.runs.joined import Joined

REPORT = "report.html"


def write_joined(joined: "Joined", path: Path) -> Path:
    """Write the report of both sides of a run to a new file and return its path.

    Raises UserError where it exists or cannot be written.
    """
    from windtunnel.views.pages.page import render

    return _write_new(path, render(joined))


def write_comparison(comparison: "Comparison", path: Path) -> Path:
    """Write the report of a comparison to a new file and return its path.

    Raises UserError where it exists or cannot be written.
    """
    from windtunnel.views.pages.comparison import render

    return _write_new(path, render(comparison))


def write_sweep(sweep: "Sweep", path: Path) -> Path:
    """Write the charts of PCIe traffic over the packet rate to a new file and return its path.

    Raises UserError where it exists or cannot be written.
    """
    from windtunnel.views.pages.sweep_page import render

    return _write_new(path, render(sweep))


def write(run_dir: Path, plotly_file: str | None = None, place: Path | None = None) -> Path:
    """Write report.html into the run directory from what is in it, and return its path. `plotly_file`: where plotly.js is, relative to
    the report; None: in the report. `place`: of the directory, if the caller holds it open.

    Raises UserError where the directory is not a run's or cannot be written.
    """
    from windtunnel.runs import load
    from windtunnel.runs.directories import held
    from windtunnel.runs.files import replace
    from windtunnel.views.pages.page import render

    # the report is written into the directory that was read, whatever has its name by then
    with held(place or run_dir) as opened:
        run = dataclasses.replace(load(opened), path=run_dir)
        replace(opened / REPORT, render(run, plotly_file))
    return run_dir / REPORT


def write_several(run_dirs: Sequence[Path]) -> Iterator[Path]:
    """As `write`, one after the other. Reports of runs that lie in one directory share the plotly.js that is written there.

    Raises UserError as `write`.
    """
    beside = Counter(run_dir.absolute().parent for run_dir in run_dirs)
    shared = {parent: f"../{_write_plotly(parent)}" for parent, count in beside.items() if count > 1}
    for run_dir in run_dirs:
        yield write(run_dir, shared.get(run_dir.absolute().parent))


def _write_plotly(directory: Path) -> str:
    """Writes plotly.js into the directory and returns its name, which says what is in it: a newer one does not take its place, and what somebody
    else has put there under its name does not stay."""
    from hashlib import sha256

    from windtunnel.errors import UserError
    from windtunnel.runs.files import replace
    from windtunnel.text_file import read_regular
    from windtunnel.views.pages.page import plotly_js

    script = plotly_js()
    name = f"plotly-{sha256(script).hexdigest()[:12]}.js"
    file = directory / name
    with suppress(OSError, UserError):
        if read_regular(file, len(script) + 1) == script:
            return name
    replace(file, script.decode())
    return name


def _write_new(path: Path, html: str) -> Path:
    from windtunnel.runs.files import check_new, replace

    check_new(path)
    replace(path, html)
    return path
