"""windtunnel export: a run as tables, for other tools."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from windtunnel.cli import completion
from windtunnel.cli.shared_options import IncludeInvalid
from windtunnel.printing import print_values


def export(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Run directory.", show_default=False, autocompletion=completion.runs)
    ],
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="New directory for the tables.", show_default=False)],
    form: Annotated[
        Literal["csv", "parquet", "json"], typer.Option("--format", help="Format of the tables.")
    ] = "parquet",
    include_invalid: IncludeInvalid = False,
    redact: Annotated[
        bool,
        typer.Option(
            "--redact",
            help="For others: without names of hosts and users, MAC, IP and PCI addresses, paths below home directories, and files that are "
            "no text. Labels stay.",
        ),
    ] = False,
) -> None:
    """Export a run as tables.

    Writes the run's windows as tables in long form, together with run.json and the other files of the run.
    "windtunnel import run DIR" restores the run directory without loss. An invalid run is exported with --include-invalid.

    windtunnel export runs/before tables
    windtunnel export runs/before tables --format csv
    windtunnel export runs/before published --redact
    """
    from windtunnel.exchange.redacted import redaction_of
    from windtunnel.exchange.tables import export as write
    from windtunnel.results.terminal.messages import show_warning
    from windtunnel.runs import load

    loaded = load(run)
    for problem in loaded.problems:
        show_warning(f"{run}: {problem}")
    if loaded.rejected:
        loaded.require_usable(include_invalid)
        show_warning(f"1 invalid run included: {loaded.record.verdict.reasons[0]}")
    print_values(write(loaded, directory, form, redaction_of(loaded.record) if redact else None))
