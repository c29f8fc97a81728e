"""windtunnel show: the tables of runs that have flown."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from windtunnel.runs import Run


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
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Write one report of both sides of a flight to FILE, new."),
    ] = None,
) -> None:
    """Show what a run measured: stages, workers, latency, ports, ledger and verdict.

    Several runs stand side by side; where their memory modes differ, a warning says that they cannot be compared. The two
    sides of a flight on two hosts (`run --side`) are joined into one.

    windtunnel show
    windtunnel show runs/2026-11-21T10-00-00Z-echo
    windtunnel show runs/before runs/after
    windtunnel show --as axio runs/before
    windtunnel show runs/of-the-server runs/of-the-client --report joined.html
    windtunnel show --json runs/before runs/after | jq '.[].metrics.workloads'
    """
    from windtunnel.runs import load
    from windtunnel.runs.latest import latest

    options = (("--json", json), ("--html", html), ("--as", as_), ("--report", report))
    given = [name for name, asked in options if asked]
    if len(given) > 1:
        from windtunnel.errors import UserError

        raise UserError(f"{' and '.join(given)} exclude each other", remedy="give one of them")
    loaded = [load(path) for path in runs or [latest()]]
    if html:
        from windtunnel.report import write

        for run in loaded:
            print(write(run.path))
    elif as_:
        from windtunnel.imports.axio_log import tables_of_run
        from windtunnel.imports.axio_table import text_of

        for run in loaded:
            print(text_of(tables_of_run(run)))
    elif report:
        _write_joined(loaded, report)
    elif json:
        _print_json(loaded)
    else:
        _print(loaded, named=bool(runs))


def _write_joined(loaded: "list[Run]", file: Path) -> None:
    from windtunnel.errors import UserError
    from windtunnel.report import write_joined
    from windtunnel.runs.joined import join

    joined = join(loaded)
    if joined is None:
        raise UserError(
            "--report is for the two sides of one flight", remedy="two run directories of `run --side`, or --html"
        )
    print(write_joined(joined, file))


def _print_json(loaded: "list[Run]") -> None:
    from json import dumps

    from windtunnel.runs.joined import join, joined_document
    from windtunnel.runs.summary import document

    joined = join(loaded)
    documents = [joined_document(joined)] if joined else [document(run) for run in loaded]
    print(dumps(documents, indent=1, ensure_ascii=False))


def _print(loaded: "list[Run]", named: bool) -> None:
    from rich.console import Console

    from windtunnel.runs.beside import beside_view
    from windtunnel.runs.joined import join
    from windtunnel.runs.tables import joined_view, run_view

    console = Console()
    if joined := join(loaded):
        console.print(joined_view(joined))
    else:
        console.print(run_view(loaded[0]) if len(loaded) == 1 else beside_view(loaded))
    if not named:
        console.print(f"run {loaded[0].path}", style="dim", soft_wrap=True)
