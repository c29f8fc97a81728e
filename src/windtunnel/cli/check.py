"""windtunnel check: is a scenario right, and what would fly where?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windtunnel.cli.side import SideOption

if TYPE_CHECKING:
    from windtunnel.engine.plan import Plan
    from windtunnel.errors import UserError
    from windtunnel.scenario import Alone, Flight, HostView

REFUSED = 2


def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Scenarios.", show_default=False)],
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change one key of the scenarios; may be given often."),
    ] = None,
    side: SideOption = None,
    json: Annotated[bool, typer.Option("--json", help="A JSON list for machines, one object a file.")] = False,
) -> None:
    """Check scenarios without flying them: keys, topology, cores, mbufs and memory on this machine.

    Shows which stage would run on which CPU, and what it would need. Exit codes: 0 all are right, 2 one is not.

    windtunnel check scenarios/*.toml
    windtunnel check scenarios/echo.toml --set server.mempool.size=4095
    """
    from windtunnel.cli.side import alone
    from windtunnel.errors import UserError
    from windtunnel.scenario import here

    host = here()
    found = [_flight(file, sets or [], host, alone(side)) for file in files]
    if json:
        from json import dumps

        documents = [_document(file, flight) for file, flight in zip(files, found, strict=True)]
        print(dumps(documents, indent=1, ensure_ascii=False))
    else:
        _print(files, found)
    if any(isinstance(flight, UserError) for flight in found):
        raise typer.Exit(REFUSED)


def _flight(file: Path, sets: list[str], host: "HostView", alone: "Alone | None") -> "Flight | UserError":
    from windtunnel.errors import UserError
    from windtunnel.scenario import load, resolve

    try:
        return resolve(load(file, sets), host, alone)
    except UserError as error:
        return error


def _document(file: Path, flight: "Flight | UserError") -> dict[str, Any]:
    from windtunnel.errors import UserError

    if isinstance(flight, UserError):
        return {"file": str(file), "ok": False, "error": flight.message, "remedy": flight.remedy}
    return {
        "file": str(file),
        "ok": True,
        "title": flight.title,
        "question": flight.question,
        "memory": flight.plans[0].eal.memory,
        "workers": [
            {"engine": name, "cpu": worker.cpu, "stages": _stages(plan, worker.cpu)}
            for name, plan in zip(flight.names, flight.plans, strict=True)
            for worker in plan.workers
        ],
        "mbufs": {
            side: {"size": demand.size, "wanted": demand.total, "by": demand.mbufs}
            for side, demand in flight.demands.items()
        },
        "emulated": flight.emulated,
        "notes": flight.notes,
        "resolved": flight.resolved,
    }


def _print(files: list[Path], found: "list[Flight | UserError]") -> None:
    from rich.console import Console

    from windtunnel.cli.errors import show_error, show_warning
    from windtunnel.cli.flight_map import flight_map
    from windtunnel.engine.find import find_engine
    from windtunnel.errors import UserError

    out = Console(highlight=False)
    for file, flight in zip(files, found, strict=True):
        if isinstance(flight, UserError):
            show_error(flight)
        else:
            out.print(flight_map(file, flight))
    try:
        find_engine()
    except UserError as error:
        show_warning(f"names of handlers and their options were not checked: {error.message}")


def _stages(plan: "Plan", cpu: int) -> dict[str, list[str]]:
    """Side -> stages of the worker on a CPU, in the order of its loop."""
    stages: dict[str, list[str]] = {}
    for worker in plan.workers:
        for stage in worker.stages if worker.cpu == cpu else []:
            stages.setdefault(plan.endpoints[stage.endpoint].side, []).append(f"{stage.stage}:{stage.index}")
    return stages
