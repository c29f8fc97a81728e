"""`--as`: the formats of other tools.

They come from parts, by their module `as_option`: NAME, the value of the option; TOOL, whose format it is; `text_of`, a run in it;
`write_scenario`, a scenario's file in it, as FILES says; and `verdicts` of the tool's rule on a run. If there are none, no help shows the option.
"""

from typing import TYPE_CHECKING, Any, Literal

import typer

from windtunnel.part_registry import part_modules

FORMATS = {part.NAME: part for part in part_modules("as_option")}
PLACEHOLDER = "FORMAT"
"""In an example of a command: the name of a format."""

if TYPE_CHECKING:
    Name = str
else:
    Name = Literal[tuple(FORMATS)]


def option(help_: str, default: str | bool = False) -> Any:
    """The option with this help. `default`: what the help says of a command without it."""
    return typer.Option("--as", help=help_, show_default=default, hidden=not FORMATS)


def examples_of(line: str) -> list[str]:
    """The example of a command; if it is of a format, one for each."""
    return [line.replace(PLACEHOLDER, name) for name in FORMATS] if PLACEHOLDER in line else [line]
