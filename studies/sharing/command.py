"""What `windtunnel share reproduce` runs and shows: src/windtunnel/sharing/cli/reproduce.py has its options."""

from pathlib import Path

from rich.table import Table
from rich.text import Text

from sharing.conduct import FinishedFigure, run_figure
from sharing.figure import figure_named
from sharing.shared_core import check_slicer
from sharing.site import choose_site
from windtunnel.live.process import ANNOUNCEMENT
from windtunnel.measure.execute import new_directory
from windtunnel.sharing.views.daemon import findings_text
from windtunnel.views.terminal.console import progress, results


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
    console = results()
    for verdict in finished.record.verdicts:
        console.print(
            Text.assemble(f"\n{verdict.title}: {verdict.claim}\n  ", (verdict.outcome, "bold"), f": {verdict.because}")
        )
        table = Table(box=None, pad_edge=False)
        for column in ("comparison", "promised", "ratio", "99% interval", "pairs", ""):
            table.add_column(column, justify="left" if column in ("comparison", "promised", "") else "right")
        for f in verdict.findings:
            interval = f"{f.low:.3g} to {f.high:.3g}" if f.low is not None else "-"
            ratio = f"{f.ratio:.3g}" if f.ratio is not None else "-"
            table.add_row(f"  {f.what}", f.promised, ratio, interval, str(f.pairs), f.outcome)
        console.print(table)
    console.print(findings_text([(row.arm, finding) for row in finished.rows for finding in row.findings]))
    excluded = sum(row.excluded is not None for row in finished.rows)
    console.print(f"\n{len(finished.rows)} trials, {excluded} excluded, {len(finished.record.failed)} failed")
    for why in finished.record.failed[:5]:
        console.print(f"  failed: {why}")
    console.print(f"{finished.path}/report.html")
