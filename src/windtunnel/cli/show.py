"""windtunnel show: the tables of runs that have flown."""

from pathlib import Path
from typing import Annotated, Literal

import typer


def show(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUN", help="Run directories; without one, the latest below runs/.", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="A JSON list for machines, one object a run.")] = False,
    html: Annotated[bool, typer.Option("--html", help="Write report.html of each run anew and say where.")] = False,
    as_: Annotated[
        Literal["axio"] | None, typer.Option("--as", help="Print the stages in another tool's table, for its scripts.")
    ] = None,
) -> None:
    """Show what a run measured: stages, workers, latency, ports, ledger and verdict.

    Several runs stand side by side; where their memory modes differ, a warning says that they cannot be compared.

    windtunnel show
    windtunnel show runs/2026-11-21T10-00-00Z-echo
    windtunnel show runs/before runs/after
    windtunnel show --as axio runs/before
    windtunnel show --json runs/before runs/after | jq '.[].metrics.workloads'
    """
    from windtunnel.runs import load
    from windtunnel.runs.latest import latest

    if bool(json) + bool(html) + bool(as_) > 1:
        from windtunnel.errors import UserError

        raise UserError("--json, --html and --as exclude each other", remedy="give one of them")
    loaded = [load(path) for path in runs or [latest()]]
    if json:
        from json import dumps

        from windtunnel.runs.summary import document

        print(dumps([document(run) for run in loaded], indent=1, ensure_ascii=False))
    elif html:
        from windtunnel import report

        for run in loaded:
            print(report.write(run.path))
    elif as_:
        from windtunnel.imports.axio_log import tables_of_run
        from windtunnel.imports.axio_table import text_of

        for run in loaded:
            print(text_of(tables_of_run(run)))
    else:
        from rich.console import Console

        from windtunnel.runs.beside import beside_view
        from windtunnel.runs.tables import run_view

        console = Console()
        console.print(run_view(loaded[0]) if len(loaded) == 1 else beside_view(loaded))
        if not runs:
            console.print(f"run {loaded[0].path}", style="dim", soft_wrap=True)
