"""What `windtunnel share reproduce` runs and shows: src/windtunnel/sharing/cli/reproduce.py has its options."""

from pathlib import Path

from sharing.conduct import FinishedFigure, run_figure
from sharing.document import figure_document
from sharing.figure import figure_named
from sharing.record import REPORT
from sharing.shared_core import check_slicer
from sharing.site import choose_site
from windtunnel.live.process import ANNOUNCEMENT
from windtunnel.measure.execute import new_directory
from windtunnel.results.show import show as show_document
from windtunnel.results.terminal.console import progress


def run(
    figure: str,
    quick: bool,
    out: Path | None,
    blocks: int | None,
    seed: int,
    cpu: int | None,
    client_cpu: int | None,
    slicer: str,
) -> FinishedFigure:
    """Runs a figure into a new directory; None is the default. Raises UserError as `run_figure`, and for CPUs or a slicer that cannot be."""
    chosen = figure_named(figure, quick, slicer)
    site = choose_site(cpu, client_cpu)
    if chosen.shares:
        check_slicer(slicer, site.tenant_cpu)
    repeats = blocks or chosen.blocks[0 if quick else 1]
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
