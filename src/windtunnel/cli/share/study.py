"""`windtunnel share study`: one of the seed's figures, flown here and judged."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from windtunnel.sharing.figures.conduct import Flown


def study(
    figure: Annotated[
        Literal["fig2", "fig6", "fig10", "fig11"], typer.Argument(metavar="FIGURE", help="fig2, fig6, fig10 or fig11.")
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer points and blocks: minutes instead of an hour.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="New directory; without it runs/<UTC time>-share-FIGURE."),
    ] = None,
    blocks: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Times that every trial is flown; 5 with --quick, else 9.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**31, help="Draws the order of the trials, and their arrivals.")] = 1,
    cpu: Annotated[int | None, typer.Option("--cpu", help="That the tenants share; without: the last one.")] = None,
    client_cpu: Annotated[
        int | None, typer.Option("--client-cpu", help="Of the open-loop client; without: the first one.")
    ] = None,
    slicer: Annotated[str, typer.Option(help="One of `windtunnel share probe`, for what is sliced.")] = "kicker",
    json: Annotated[bool, typer.Option("--json", help="Only figure.json on stdout.")] = False,
) -> None:
    """Redo one of PvCC's figures on this host, and say whether its claim holds here, does not, or is not shown.

    fig2: poll-mode stack against the kernel's. fig6: four tenants on a core, load on one, the tick against slices of 100 us.
    fig10: tenants and slices against throughput and p99. fig11: a changing load, shared, pinned and scaled, beside a batch job.
    The directory holds every trial (trials.jsonl, trials.parquet), the verdicts (figure.json) and report.html.
    Exit codes: 0 flown, whatever the verdict; 2 bad input; 130 interrupted, with what had landed judged and kept.

    windtunnel share study fig6 --quick
    windtunnel share study fig10 --out runs/fig10
    """
    from windtunnel.engine.verdict import INTERRUPTED
    from windtunnel.measure.flight import new_directory
    from windtunnel.sharing.figures import figure_named
    from windtunnel.sharing.figures.conduct import fly
    from windtunnel.sharing.figures.core import choose_site
    from windtunnel.sharing.figures.sliced import check_slicer

    chosen = figure_named(figure, quick, slicer)
    site = choose_site(cpu, client_cpu)
    if figure != "fig2":
        check_slicer(slicer, site.tenant_cpu)
    turns = blocks or chosen.blocks[0 if quick else 1]
    flown = fly(chosen, site, out or new_directory(f"share-{figure}"), turns, seed, _silent if json else _say)
    if json:
        print(flown.record.model_dump_json(indent=1))
    else:
        _show(flown)
    if flown.record.interrupted:
        raise typer.Exit(INTERRUPTED)


def _silent(number: int, of: int, label: str) -> None: ...


def _say(number: int, of: int, label: str) -> None:
    from rich.console import Console

    Console(stderr=True).print(f"[dim]{number:>4} of {of}  {label}[/dim]", highlight=False)


def _show(flown: "Flown") -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    for verdict in flown.record.verdicts:
        console.print(f"\n{verdict.title}: {verdict.claim}\n  [bold]{verdict.outcome}[/bold]: {verdict.because}")
        table = Table(box=None, pad_edge=False)
        for column in ("comparison", "promised", "ratio", "99% interval", "pairs", ""):
            table.add_column(column, justify="left" if column in ("comparison", "promised", "") else "right")
        for f in verdict.findings:
            interval = f"{f.low:.3g} to {f.high:.3g}" if f.low is not None else "-"
            ratio = f"{f.ratio:.3g}" if f.ratio is not None else "-"
            table.add_row(f"  {f.what}", f.promised, ratio, interval, str(f.pairs), f.outcome)
        console.print(table)
    from windtunnel.cli.share.tables import findings_text

    console.print(findings_text([(row.arm, finding) for row in flown.rows for finding in row.findings]))
    left_out = [row for row in flown.rows if row.disturbed]
    console.print(
        f"\n{len(flown.rows)} trials, {len(left_out)} disturbed and left out, {len(flown.record.failed)} failed"
    )
    for why in flown.record.failed[:5]:
        console.print(f"  failed: {why}")
    console.print(f"{flown.path}/report.html")
