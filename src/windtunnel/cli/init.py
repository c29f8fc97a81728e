"""windtunnel init: begin a scenario from a shipped one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli import completion
from windtunnel.errors import as_argument
from windtunnel.printing import print_values

if TYPE_CHECKING:
    from windtunnel.scenario.templates import Template


def init(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[TEMPLATE]",
            help="A shipped scenario. Without it, the templates are listed.",
            show_default=False,
            autocompletion=completion.templates,
        ),
    ] = None,
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="New scenario file.", show_default="TEMPLATE.toml")
    ] = None,
) -> None:
    """Write a commented scenario to start from.

    Copies a shipped scenario and explains its keys. Keys that it does not use are there as comments with their defaults.
    Overwrites nothing.

    windtunnel init
    windtunnel init echo
    windtunnel init open-loop mine.toml
    """
    from windtunnel.errors import UserError
    from windtunnel.scenario import templates

    available = templates.available()
    if name is None:
        _list(available)
        return
    if name not in available:
        from difflib import get_close_matches

        close = get_close_matches(name, available, n=1)
        remedy = f'did you mean "{close[0]}"?' if close else f"one of {', '.join(available)}"
        raise UserError(f"no template {name}", remedy=remedy)
    written = templates.write(available[name], file or Path(f"{name}.toml"))
    for path in written:
        print_values(f"written: {path}")
    print_values(f"next:    windtunnel check {as_argument(written[0])}")


def _list(available: "dict[str, Template]") -> None:
    width = max(map(len, available))
    for template in available.values():
        print_values(f"{template.name:<{width}}  {template.question}")
