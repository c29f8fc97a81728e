"""What `windtunnel share reproduce` runs and shows: sharing/src/windtunnel_sharing/cli/reproduce.py has its options."""

from collections.abc import Mapping
from pathlib import Path

from pvcc.conduct import Blocks, FinishedFigure, run_figure
from pvcc.document import figure_document
from pvcc.figure import figure_named
from pvcc.points import read_points
from pvcc.record import REPORT
from pvcc.shared_core import check_slicer
from pvcc.site import choose_site
from windtunnel.api.documents import progress
from windtunnel.api.documents import show as show_document
from windtunnel.api.errors import UserError
from windtunnel.api.host import ANNOUNCEMENT
from windtunnel.api.runs import new_directory


def run(
    figure: str,
    quick: bool,
    out: Path | None,
    blocks: int | None,
    trial: int | None,
    seed: int,
    cpu: int | None,
    client_cpu: int | None,
    slicer: str,
    points: Mapping[str, str | None],
) -> FinishedFigure:
    """Runs a figure into a new directory; None is the default. `points`: texts of `points.OPTIONS`. Raises UserError as `run_figure`, and for
    points, CPUs or a slicer that cannot be."""
    kind = figure_named(figure)
    chosen = kind(quick, slicer, read_points(figure, kind.options, points))
    if blocks and trial:
        raise UserError("--blocks and --trial exclude each other", remedy="--trial runs one block: leave --blocks away")
    site = choose_site(cpu, client_cpu)
    if chosen.shares:
        check_slicer(slicer, site.tenant_cpu)
    repeats = Blocks(trial or 1, trial or blocks or chosen.blocks[0 if quick else 1])
    return run_figure(chosen, site, out or new_directory(f"share-{figure}"), repeats, seed, _progress)


def _progress(number: int, of: int, label: str) -> None:
    ANNOUNCEMENT.progress(number - 1, of, "trials")
    progress().print(f"{number:>4} of {of}  {label}", style="dim")


def show(finished: FinishedFigure) -> None:
    """The verdicts, with their comparisons, and where the report is."""
    document = figure_document(
        finished.figure, finished.record, finished.rows, [("report", str(finished.path / REPORT))]
    )
    show_document(document)
