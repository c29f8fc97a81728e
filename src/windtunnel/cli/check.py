"""windtunnel check: is a scenario valid, and what would run where?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windtunnel.cli import completion
from windtunnel.cli.shared_options import Format, NoPlugins, Sets, scenario_path
from windtunnel.cli.side import SideOption

if TYPE_CHECKING:
    from windtunnel.engine.plan import Plan
    from windtunnel.errors import UserError
    from windtunnel.scenario import HostView, OneSide, RunSpec

REFUSED = 2


def check(
    files: Annotated[
        list[Path],
        typer.Argument(
            parser=scenario_path,
            metavar="FILE...",
            help="Scenario files, or names of shipped scenarios.",
            show_default=False,
            autocompletion=completion.scenarios,
        ),
    ],
    sets: Sets = None,
    no_plugins: NoPlugins = False,
    side: SideOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON list with one object per file.")] = False,
    format_: Format = "text",
) -> None:
    """Check scenarios without running them.

    Checks keys, topology, cores, mbufs and memory against this machine. Opens the handlers as the run would, and calls each message
    handler once. Shows which stage runs on which CPU, and what the scenario needs.

    Exit codes: 0 all files are valid, 2 one is not.

    windtunnel check scenarios/*.toml
    windtunnel check scenarios/echo.toml --set server.mempool.size=4095
    """
    from windtunnel.cli.side import one_side
    from windtunnel.errors import UserError
    from windtunnel.scenario import here

    host = here()
    resolved = [_resolved(file, sets or [], host, one_side(side)) for file in files]
    if json:
        from json import dumps

        documents = [_document(file, spec) for file, spec in zip(files, resolved, strict=True)]
        print(dumps(documents, indent=1, ensure_ascii=False))
    else:
        _print(files, resolved)
    if any(isinstance(spec, UserError) for spec in resolved):
        raise typer.Exit(REFUSED)


def _resolved(file: Path, sets: list[str], host: "HostView", one_side: "OneSide | None") -> "RunSpec | UserError":
    from windtunnel.errors import UserError
    from windtunnel.measure.try_handlers import with_handler_notes
    from windtunnel.scenario import load, resolve

    try:
        return with_handler_notes(resolve(load(file, sets), host, one_side))
    except UserError as error:
        return error


def _document(file: Path, spec: "RunSpec | UserError") -> dict[str, Any]:
    from windtunnel.errors import UserError

    if isinstance(spec, UserError):
        return {"file": str(file), "ok": False, "error": spec.message, "remedy": spec.remedy}
    return {
        "file": str(file),
        "ok": True,
        "title": spec.title,
        "question": spec.question,
        "memory": spec.plans[0].eal.memory,
        "workers": [
            {"engine": name, "cpu": worker.cpu, "stages": _stages(plan, worker.cpu)}
            for name, plan in zip(spec.names, spec.plans, strict=True)
            for worker in plan.workers
        ],
        "mbufs": {
            side: {"size": demand.size, "wanted": demand.total, "by": demand.mbufs}
            for side, demand in spec.demands.items()
        },
        "placement": [reason for cpu_map in spec.maps for reason in cpu_map.reasons],
        "emulated": spec.emulated,
        "notes": spec.notes,
        "resolved": spec.resolved,
    }


def _print(files: list[Path], resolved: "list[RunSpec | UserError]") -> None:
    from windtunnel.engine.find import find_engine
    from windtunnel.errors import UserError
    from windtunnel.results.run_map import run_map_document
    from windtunnel.results.show import show
    from windtunnel.results.terminal.messages import show_error, show_warning

    for number, (file, spec) in enumerate(zip(files, resolved, strict=True)):
        if isinstance(spec, UserError):
            show_error(spec)
            continue
        if number:
            print()
        show(run_map_document(file, spec))
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
