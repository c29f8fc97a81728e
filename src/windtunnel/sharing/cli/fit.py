"""`windtunnel share fit`: a model of sharing on this host."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from windtunnel.sharing.model.points import Point

HELP = "name the directory of a figure, or measure here with --live"


def fit(
    study: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]", help="Directory of `share reproduce fig10`, or a file of its trials.", show_default=False
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the model to FILE, new.")] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Measure here: our own tenants on one core, for a minute or two.")
    ] = False,
    cpu: Annotated[
        int | None, typer.Option("--cpu", metavar="N", help="CPU to share, with --live. Default: the last one.")
    ] = None,
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="FILE", help="With --live: write the trials to FILE, new.")
    ] = None,
    slicer: Annotated[
        str | None,
        typer.Option("--slicer", metavar="NAME", help="Slicer to fit, if there are several. With --live: kicker."),
    ] = None,
    l2: Annotated[
        str | None, typer.Option("--l2", metavar="BYTES", help="L2 size of a core. Default: as the kernel reports.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")] = False,
) -> None:
    """Fit a model of capacity and p99 to tenants that shared a core, and show its held-out errors.

    windtunnel share fit --live --out sharing.json
    windtunnel share fit runs/2026-11-22T10-00-00Z-share-fig10 --out sharing.json
    windtunnel share advise --slo p99=500us --tenants 8 --model sharing.json
    """
    from pydantic_core import to_jsonable_python

    from windtunnel.errors import UserError
    from windtunnel.host import facts
    from windtunnel.runs.files import check_new, replace
    from windtunnel.sharing.model.fit import fit as fit_points
    from windtunnel.sharing.model.points import read
    from windtunnel.sharing.simulate import Machine

    check_new(out, keep)
    if (study is None) != live:
        raise UserError("no trials to fit to" if study is None else "DIR and --live exclude each other", remedy=HELP)
    if not live and (cpu is not None or keep):
        raise UserError("--cpu and --keep need --live", remedy=HELP)
    machine = Machine(l2_bytes=_l2(l2))
    points, notes = _measured(slicer or "kicker", cpu, keep) if study is None else read(study)
    host = to_jsonable_python(facts.collect())
    model = fit_points(points, "live" if live else str(study), host, machine, slicer, notes)
    if out:
        replace(out, model.model_dump_json(indent=1) + "\n")
    if json:
        print(model.model_dump_json(indent=1))
        return
    from rich.console import Console

    from windtunnel.sharing.views.model import model_view

    console = Console(highlight=False)
    console.print(model_view(model))
    if out:
        console.print(f"wrote {out}", style="dim", soft_wrap=True)


def _measured(slicer: str, cpu: int | None, keep: Path | None) -> "tuple[list[Point], list[str]]":
    from windtunnel.runs.files import replace
    from windtunnel.sharing.cli.probe import shared_cpu
    from windtunnel.sharing.model.live import grid, run
    from windtunnel.sharing.model.points import kept

    chosen, points = shared_cpu(cpu), []
    for number, setting in enumerate(settings := list(grid(slicer)), 1):
        point = run(setting, chosen).point
        points.append(point)
        typer.echo(f"{number}/{len(settings)}  {_words(point)}", err=True)
    if keep:
        replace(keep, "".join(point.model_dump_json() + "\n" for point in points))
    return kept(points, "live")


def _words(point: "Point") -> str:
    from windtunnel import format as fmt

    words = f"{point.tenants} tenants, {fmt.duration(point.slice_ns)}, {fmt.rate(point.rate)} each"
    return f"{words}: p99 {fmt.duration(point.p99_ns)}, served {fmt.rate(point.served)}, own share {fmt.percent(point.own_share)}"


def _l2(asked: str | None) -> int:
    """Bytes. Raises UserError where it is not known."""
    from windtunnel.errors import UserError
    from windtunnel.host.caches import reported
    from windtunnel.scenario.quantities import option

    found = (
        int(option("--l2", "size", asked, "1B", "1024GiB"))
        if asked
        else next((cache.bytes for cache in reported() if cache.level == 2), None)
    )
    if not found:
        raise UserError(
            "this kernel does not report the size of the L2", remedy="--l2 1MiB, from the processor's data sheet"
        )
    return found
