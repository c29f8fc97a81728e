"""windtunnel export: a run as tables, for other tools."""

from pathlib import Path
from typing import Annotated, Literal

import typer


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.", show_default=False)],
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where the tables go, new.", show_default=False)],
    form: Annotated[Literal["csv", "parquet", "json"], typer.Option("--format", help="Of the tables.")] = "parquet",
) -> None:
    """Write a run's windows as tables in long form, with its run.json and its other files.

    `windtunnel import run DIR` makes the run directory again: nothing is lost. docs/export.md has every table and unit.

    windtunnel export runs/before tables
    windtunnel export runs/before tables --format csv
    """
    from windtunnel.cli.errors import show_warning
    from windtunnel.exports import export as write
    from windtunnel.runs import load

    loaded = load(run)
    for problem in loaded.problems:
        show_warning(f"{run}: {problem}")
    print(write(loaded, directory, form))
