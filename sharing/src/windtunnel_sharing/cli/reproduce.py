"""`windtunnel share reproduce`: one of PvCC's figures, measured here and judged. The figures are `sharing/studies/pvcc/` of a checkout."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer


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
    trial: Annotated[
        int | None,
        typer.Option(min=1, max=1000, metavar="N", help="Run the Nth repeat alone, as a run of all would run it."),
    ] = None,
    threads: Annotated[
        str | None,
        typer.Option(metavar="N,N", help="fig2: threads of the client, each with 7 requests in flight, as in 1,12,24."),
    ] = None,
    workloads: Annotated[
        str | None, typer.Option(metavar="NAME,NAME", help="fig6: servers, of memcached, nginx and redis.")
    ] = None,
    rates: Annotated[
        str | None,
        typer.Option(metavar="N,N", help="fig6, fig10: requests per second for one tenant, as in 5000,40000,90000."),
    ] = None,
    vms: Annotated[str | None, typer.Option(metavar="N,N", help="fig10: how many tenants share the core.")] = None,
    tslices: Annotated[str | None, typer.Option(metavar="N,N", help="fig10: slices in us, as in 100,1000.")] = None,
    clients: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME",
            help="fig6: clients of others that ask, of mutilate, memtier_benchmark, wrk, wrk2 and redis-benchmark, if installed.",
        ),
    ] = None,
    batch: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="fig11: batch job, windtunnel-batch (the default) or sysbench, if installed."
        ),
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

    The figures are in a source checkout; options with commas choose which points are run. fig2: a poll-mode stack against the kernel's. fig6: four tenants on a core, load on one, ticks against slices of 100 us.
    fig10: throughput and p99 by tenants and slices. fig11: a changing load, shared, pinned and scaled, with a batch job.
    The directory holds every trial (trials.jsonl, trials.parquet), the verdicts (figure.json) and report.html.
    Exit codes: 0 measured, whatever the verdict; 2 bad input; 130 interrupted, finished trials are judged and kept.

    windtunnel share reproduce fig6 --quick
    windtunnel share reproduce fig6 --workloads memcached --rates 5000,40000,90000
    windtunnel share reproduce fig10 --out runs/fig10
    """
    from windtunnel.api.runs import INTERRUPTED

    figures = _figures()
    points = {
        "threads": threads,
        "workloads": workloads,
        "rates": rates,
        "vms": vms,
        "tslices": tslices,
        "clients": clients,
        "batch": batch,
    }
    finished = figures.run(figure, quick, out, blocks, trial, seed, cpu, client_cpu, slicer, points)
    if json:
        print(finished.record.model_dump_json(indent=1))
    else:
        figures.show(finished)
    if finished.record.interrupted:
        raise typer.Exit(INTERRUPTED)


def _figures() -> Any:
    """The module `command` of the checkout's figures. Raises UserError where windtunnel is installed without them."""
    import sys
    from importlib import import_module

    from windtunnel.api.errors import UserError
    from windtunnel.api.runs import CHECKOUT, is_checkout

    studies = CHECKOUT / "sharing" / "studies"
    if not (is_checkout() and (studies / "pvcc").is_dir()):
        raise UserError(
            "this windtunnel is installed without the figures: they are in sharing/studies/pvcc/ of the sources",
            remedy="in a source checkout: ./windtunnel share reproduce FIGURE",
        )
    if str(studies) not in sys.path:
        sys.path.insert(0, str(studies))
    return import_module("pvcc.command")
