"""Reports: one HTML file each, that needs no network."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windtunnel.measure.compare import Comparison
    from windtunnel.pcie.sweep import Sweep
    from windtunnel.runs.joined import Joined


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


def write(run_dir: Path) -> Path:
    """Write report.html into the run directory from what is in it, and return its path.

    Raises UserError where the directory is not a run's or cannot be written.
    """
    from windtunnel.runs import load
    from windtunnel.runs.files import replace
    from windtunnel.views.pages.page import render

    run = load(run_dir)
    path = run.path / "report.html"
    replace(path, render(run))
    return path


def _write_new(path: Path, html: str) -> Path:
    from windtunnel.runs.files import check_new, replace

    check_new(path)
    replace(path, html)
    return path
