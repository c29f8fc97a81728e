"""`windtunnel share fit`: a model of sharing on this host."""

from pathlib import Path
from typing import Annotated

import typer


def fit(
    study: Annotated[
        Path | None,
        typer.Argument(metavar="[STUDY]", help="A study's directory, or a file of its trials.", show_default=False),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the model to FILE, new.")] = None,
    slicer: Annotated[str | None, typer.Option("--slicer", metavar="NAME", help="Of several in the study.")] = None,
    l2: Annotated[
        str | None, typer.Option("--l2", metavar="BYTES", help="Of a core; without: as the host says.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Only JSON on stdout.")] = False,
) -> None:
    """Fit capacity and p99 to tenants that shared a core, with intervals, and say how wrong the model is where it had not looked.

    windtunnel share fit runs/2026-11-22T10-00-00Z-fig10 --out sharing.json
    windtunnel share advise --slo p99=500us --tenants 8 --model sharing.json
    """
    from pydantic_core import to_jsonable_python

    from windtunnel.errors import UserError
    from windtunnel.host import facts
    from windtunnel.runs.files import replace
    from windtunnel.sharing.model.fit import fit as fit_points
    from windtunnel.sharing.model.points import read
    from windtunnel.sharing.simulate import Machine

    if out and out.exists():
        raise UserError(f"{out}: exists already", remedy="choose a new file")
    if study is None:
        raise UserError("nothing to fit to", remedy="a study's directory")
    points, said = read(study)
    host = to_jsonable_python(facts.collect())
    model = fit_points(points, str(study), host, Machine(l2_bytes=_l2(l2)), slicer, said)
    if out:
        replace(out, model.model_dump_json(indent=1) + "\n")
    if json:
        print(model.model_dump_json(indent=1))
        return
    from rich.console import Console

    from windtunnel.sharing.model.view import model_view

    console = Console(highlight=False)
    console.print(model_view(model))
    if out:
        console.print(f"wrote {out}", style="dim", soft_wrap=True)


def _l2(asked: str | None) -> int:
    """Bytes. Raises UserError where nothing says it."""
    from windtunnel.errors import UserError
    from windtunnel.host.caches import reported
    from windtunnel.sharing.simulate.quantities import size

    found = size(asked, "--l2") if asked else next((cache.bytes for cache in reported() if cache.level == 2), None)
    if not found:
        raise UserError(
            "the size of the L2 is not told by this kernel", remedy="--l2 1MiB, as the processor's maker says"
        )
    return found
