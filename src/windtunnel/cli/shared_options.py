"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from windtunnel.cli import completion


def _use_format(context: typer.Context, chosen: str) -> str:
    """Sets the format of the console for results, so that no command has to pass it on."""
    if chosen == "markdown" and not context.resilient_parsing:
        from windtunnel.results.show import results_as_markdown

        context.with_resource(results_as_markdown())
    return chosen


def _refuse_code(context: typer.Context, chosen: bool) -> bool:
    """Sets whether handlers may be opened, so that no command has to pass it on."""
    if chosen and not context.resilient_parsing:
        from windtunnel.scenario.plugins import code_refused

        context.with_resource(code_refused())
    return chosen


def scenario_path(text: str) -> Path:
    """The path of a scenario argument. `./echo` stays a file: pathlib drops the `./`, and a word alone is a shipped scenario."""
    path = Path(text)
    return path.absolute() if path.name == str(path) != text and not path.suffix else path


Scenario = Annotated[
    Path,
    typer.Argument(
        parser=scenario_path,
        metavar="FILE",
        help="Scenario file, or the name of a shipped scenario.",
        show_default=False,
        autocompletion=completion.scenarios,
    ),
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a key of the scenario, as in client.rate=2M. Repeatable.",
        autocompletion=completion.sets,
    ),
]
IncludeInvalid = Annotated[
    bool,
    typer.Option("--include-invalid", help="Use the rejected metrics of invalid runs too, and say how many they are."),
]
State = Annotated[
    str | None,
    typer.Option(
        "--state",
        metavar="NAME",
        help="Measure in this state of the host, as in one-l3: short for --set validity.state=NAME.",
    ),
]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--label", metavar="KEY=VALUE", help="Mark the run, as in commit=8fe5ed78, for `history`. Repeatable."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
Format = Annotated[
    Literal["text", "markdown"],
    typer.Option("--format", callback=_use_format, help="Print tables as text, or as Markdown with all their columns."),
]
NoPlugins = Annotated[
    bool,
    typer.Option(
        "--no-plugins",
        callback=_refuse_code,
        help="Refuse handlers and copiers that are files, and compilers other than gcc and clang.",
    ),
]
Report = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Write an HTML report to FILE, which must be new.")
]


def with_state(sets: list[str] | None, state: str | None) -> list[str]:
    """The changes of a scenario, including that of --state."""
    return [*(sets or ()), *([f"validity.state={state}"] if state is not None else ())]
