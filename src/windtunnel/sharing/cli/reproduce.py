"""`windtunnel share reproduce`: one of PvCC's figures, measured here and judged."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from windtunnel.sharing.reproduce.conduct import FinishedFigure


def reproduce(
    figure: Annotated[
        Literal["fig2", "fig6", "fig10", "fig11"], typer.Argument(metavar="FIGURE", help="fig2, fig6, fig10 or fig11.")
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer points and blocks: minutes instead of an hour.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="New directory. Default: runs/<UTC time>-share-FIGURE."),
    ] = None,
    blocks: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Repeats of every trial. Default: 9, with --quick 5.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**31, help="Seed of the trials' order and arrivals.")] = 1,
    cpu: Annotated[int | None, typer.Option("--cpu", help="CPU that the tenants share. Default: the last one.")] = None,
    client_cpu: Annotated[
        int | None, typer.Option("--client-cpu", help="CPU of the open-loop client. Default: the first one.")
    ] = None,
    slicer: Annotated[str, typer.Option(help="Slicer to use, see `windtunnel share probe`.")] = "kicker",
    json: Annotated[bool, typer.Option("--json", help="Print figure.json instead of tables.")] = False,
) -> None:
    """Reproduce a figure of PvCC on this host, and judge its claims: holds, does not hold, or not shown.

    fig2: a poll-mode stack against the kernel's. fig6: four tenants on a core, load on one, ticks against slices of 100 us.
    fig10: throughput and p99 by tenants and slices. fig11: a changing load, shared, pinned and scaled, with a batch job.
    The directory holds every trial (trials.jsonl, trials.parquet), the verdicts (figure.json) and report.html.
    Exit codes: 0 measured, whatever the verdict; 2 bad input; 130 interrupted, finished trials are judged and kept.

    windtunnel share reproduce fig6 --quick
    windtunnel share reproduce fig10 --out runs/fig10
    """
    from windtunnel.engine.verdict import INTERRUPTED
    from windtunnel.measure.execute import new_directory
    from windtunnel.sharing.reproduce import figure_named
    from windtunnel.sharing.reproduce.conduct import run_figure
    from windtunnel.sharing.reproduce.shared_core import check_slicer
    from windtunnel.sharing.reproduce.site import choose_site

    chosen = figure_named(figure, quick, slicer)
    site = choose_site(cpu, client_cpu)
    if figure != "fig2":
        check_slicer(slicer, site.tenant_cpu)
    repeats = blocks or chosen.blocks[0 if quick else 1]
    finished = run_figure(chosen, site, out or new_directory(f"share-{figure}"), repeats, seed, _progress)
    if json:
        print(finished.record.model_dump_json(indent=1))
    else:
        _show(finished)
    if finished.record.interrupted:
        raise typer.Exit(INTERRUPTED)


def _progress(number: int, of: int, label: str) -> None:
    from rich.console import Console

    Console(stderr=True).print(f"[dim]{number:>4} of {of}  {label}[/dim]", highlight=False)


def _show(finished: "FinishedFigure") -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    for verdict in finished.record.verdicts:
        console.print(f"\n{verdict.title}: {verdict.claim}\n  [bold]{verdict.outcome}[/bold]: {verdict.because}")
        table = Table(box=None, pad_edge=False)
        for column in ("comparison", "promised", "ratio", "99% interval", "pairs", ""):
            table.add_column(column, justify="left" if column in ("comparison", "promised", "") else "right")
        for f in verdict.findings:
            interval = f"{f.low:.3g} to {f.high:.3g}" if f.low is not None else "-"
            ratio = f"{f.ratio:.3g}" if f.ratio is not None else "-"
            table.add_row(f"  {f.what}", f.promised, ratio, interval, str(f.pairs), f.outcome)
        console.print(table)
    from windtunnel.sharing.views.daemon import findings_text

    console.print(findings_text([(row.arm, finding) for row in finished.rows for finding in row.findings]))
    excluded = sum(row.excluded is not None for row in finished.rows)
    console.print(f"\n{len(finished.rows)} trials, {excluded} excluded, {len(finished.record.failed)} failed")
    for why in finished.record.failed[:5]:
        console.print(f"  failed: {why}")
    console.print(f"{finished.path}/report.html")
