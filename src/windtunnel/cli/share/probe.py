"""`windtunnel share probe`: what each slicer achieves on this host."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from windtunnel.sharing.probe import Probe


def probe(
    cpu: Annotated[
        int | None, typer.Option("--cpu", help="The core to share; without: the last that may be used.")
    ] = None,
    slice_: Annotated[str, typer.Option("--slice", metavar="TIME", help="How long a tenant keeps the core.")] = "100us",
    tenants: Annotated[int, typer.Option("--tenants", min=1, max=64, help="How many poll on it.")] = 4,
    rate: Annotated[str, typer.Option("--rate", metavar="RATE", help="Requests a second of each, Poisson.")] = "5krps",
    seconds: Annotated[float, typer.Option("--seconds", min=0.1, max=60, help="For each slicer.")] = 1.0,
    json: Annotated[bool, typer.Option("--json", help="A JSON object for machines.")] = False,
) -> None:
    """Measure what each way to share a core achieves on this host, and pick one.

    Tenants that always poll run on one core, with requests made inside them, under each slicer in turn. Nothing is taken from the
    kernel's version; what is missing here is said with the reason. Threads and settings are as before afterwards.

    windtunnel share probe
    windtunnel share probe --cpu 3 --slice 50us --tenants 8
    """
    import os

    from windtunnel.sharing import places
    from windtunnel.sharing import probe as probing
    from windtunnel.sharing.simulate import quantities
    from windtunnel.sharing.slicers.slicer import check_slice
    from windtunnel.sharing.trial import Load

    slice_ns = quantities.duration_ns(slice_, "--slice")
    check_slice(slice_ns)
    chosen = max(os.sched_getaffinity(0)) if cpu is None else cpu
    with places.held(places.directory() / f"probe-cpu{chosen}{places.SUFFIX}") as journal:
        found = probing.probe(journal, chosen, slice_ns, Load(tenants, quantities.rate(rate, "--rate")), seconds)
    probing.keep(found)
    if json:
        from dataclasses import asdict
        from json import dumps

        print(dumps(asdict(found), indent=1))
        return
    _show(found)


def _show(found: "Probe") -> None:
    from rich.console import Console

    console = Console()
    console.print(_table(found))
    for one in found.measured:
        if one.missing:
            console.print(f"[bold]{one.name}[/]: {one.missing}")
        for warning in one.warnings:
            console.print(f"[bold]{one.name}[/]: {warning}")
        if one.wants:
            console.print(f"[bold]{one.name}[/]: {one.wants}; never picked unasked")
    console.print(f"picked: [bold]{found.picked}[/]")


def _table(found: "Probe") -> "Table":
    from rich.table import Table

    title = f"{found.tenants} polling tenants on CPU {found.cpu}, slices of {found.slice_ns / 1e3:g} us, {found.seconds:g} s each"
    table = Table(title=title, title_justify="left")
    table.add_column("slicer")
    for heading in (
        "slice p50 us",
        "p99",
        "latency p50 us",
        "p99",
        "throughput",
        "own CPU",
        "share off by",
        "late p99 us",
    ):
        table.add_column(heading, justify="right")
    for one in found.measured:
        if one.missing:
            continue
        microseconds = (one.slice_p50_us, one.slice_p99_us, one.latency_p50_us, one.latency_p99_us)
        shares = (one.throughput, one.own_share, one.off_points)
        late = "" if one.late_p99_us is None else f"{one.late_p99_us:.1f}"
        table.add_row(one.name, *(_us(value) for value in microseconds), *(f"{value:.1%}" for value in shares), late)
    return table


def _us(value: float | None) -> str:
    return "too few" if value is None else f"{value:.4g}" if value < 1000 else f"{value:.0f}"
