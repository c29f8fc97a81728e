"""windtunnel show: the results of runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli import as_option, completion
from windtunnel.cli.shared_options import Format, IncludeInvalid, Json
from windtunnel.printing import print_values

if TYPE_CHECKING:
    from windtunnel.runs import Run


def show(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN...]",
            help="Run directories.",
            show_default="the latest run in runs/",
            autocompletion=completion.runs,
        ),
    ] = None,
    json: Json = False,
    format_: Format = "text",
    html: Annotated[
        bool, typer.Option("--html", help="Write each run's report.html again and print its path.")
    ] = False,
    as_: Annotated[
        as_option.Name | None, as_option.option("Print the stages in the table format of another tool.")
    ] = None,
    include_invalid: IncludeInvalid = False,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report", metavar="FILE", help="Write one report on both sides of a run to FILE, which must be new."
        ),
    ] = None,
) -> None:
    """Show the results of runs.

    Shows stages, workers, latency, ports, ledger and verdict. Several runs are shown side by side. The two sides of a run
    on two hosts (run --side) are joined into one. Metrics of an invalid run are marked as rejected; --as prints them only
    with --include-invalid. If stdout is no terminal, tables keep all columns.

    windtunnel show
    windtunnel show runs/2026-11-21T10-00-00Z-echo
    windtunnel show runs/before runs/after
    windtunnel show --as FORMAT runs/before
    windtunnel show runs/of-the-server runs/of-the-client --report joined.html
    windtunnel show --json runs/before runs/after | jq '.[].metrics.workloads'
    """
    from windtunnel.runs import load
    from windtunnel.runs.latest import latest

    options = (("--json", json), ("--html", html), ("--as", as_), ("--report", report))
    formats = [name for name, requested in options if requested]
    if len(formats) > 1:
        from windtunnel.errors import UserError

        raise UserError(f"{' and '.join(formats)} exclude each other", remedy="give one of them")
    loaded = [load(path) for path in runs or [latest()]]
    if html:
        from windtunnel.results.run.report import write_run_report

        print_values(*(write_run_report(run.path) for run in loaded))
    elif as_:
        from windtunnel.results.terminal.messages import show_warning

        for run in loaded:
            run.require_usable(include_invalid)
            if run.rejected:
                show_warning(f"1 invalid run included: {run.path}: {run.record.verdict.reasons[0]}")
            print(as_option.FORMATS[as_].text_of(run))
    elif report:
        _write_joined(loaded, report)
    elif json:
        _print_json(loaded)
    else:
        _print(loaded, named=bool(runs))


def _write_joined(loaded: "list[Run]", file: Path) -> None:
    from windtunnel.errors import UserError
    from windtunnel.results.page.files import write_new_page
    from windtunnel.results.run.document import run_document
    from windtunnel.runs.joined import join

    joined = join(loaded)
    if joined is None:
        raise UserError(
            "--report takes the two sides of one run", remedy="two run directories of `run --side`, or --html"
        )
    print_values(write_new_page(run_document(joined), file))


def _print_json(loaded: "list[Run]") -> None:
    from json import dumps

    from windtunnel.measure.earlier import earlier
    from windtunnel.results.run.as_json import joined_json, run_json
    from windtunnel.runs.joined import join

    joined, (first, *further) = join(loaded), loaded
    if joined:
        documents = [joined_json(joined)]
    elif further:
        documents = [run_json(run) for run in loaded]
    else:
        documents = [run_json(first, earlier(first))]
    print(dumps(documents, indent=1, ensure_ascii=False))


def _print(loaded: "list[Run]", named: bool) -> None:
    from windtunnel.measure.earlier import earlier
    from windtunnel.results.run.document import run_document
    from windtunnel.results.run.side_by_side import side_by_side_document
    from windtunnel.results.show import show
    from windtunnel.runs.joined import join

    first, *further = loaded
    if joined := join(loaded):
        show(run_document(joined))
    elif further:
        show(side_by_side_document(loaded))
    else:
        show(run_document(first, earlier(first), [] if named else [("run", str(first.path))]))
