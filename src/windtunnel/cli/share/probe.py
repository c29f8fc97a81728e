"""`windtunnel share probe`: what each slicer achieves on this host."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
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
    from windtunnel.cli.share.cpus import shared_cpu
    from windtunnel.sharing import places
    from windtunnel.sharing import probe as probing
    from windtunnel.sharing.simulate import quantities
    from windtunnel.sharing.slicers.slicer import check_slice
    from windtunnel.sharing.trial import Load

    slice_ns = quantities.duration_ns(slice_, "--slice")
    check_slice(slice_ns)
    chosen = shared_cpu(cpu)
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

    from windtunnel.cli.share.tables import findings_text, probe_table

    console = Console(highlight=False)
    console.print(probe_table(found))
    for one in found.measured:
        if one.missing:
            console.print(f"[bold]{one.name}[/]: missing: {one.missing}")
        for warning in one.warnings:
            console.print(f"[bold]{one.name}[/]: {warning}")
        if one.wants:
            console.print(f"[bold]{one.name}[/]: wants {one.wants}; not picked unasked")
    console.print(findings_text([(one.name, finding) for one in found.measured for finding in one.findings]))
    disturbed = [one.name for one in found.measured if one.disturbed]
    if disturbed:
        console.print(
            f"others were on the core: {', '.join(disturbed)} take no side; probe again when the host is quiet"
        )
    console.print(f"picked: [bold]{found.picked}[/]")
