"""A UserError or a warning on stderr. Nothing in it is markup, and each line but its first has a mark: none can be taken for another message."""

import os
import re

from rich.text import Text

from windtunnel.errors import UserError, as_argument
from windtunnel.results.terminal.harmless import HarmlessConsole

_COMMAND = re.compile(r"(?<![\w./'\"-])windtunnel(?= [a-z]+\b)")
"""Where a remedy names a command. A file of this name is quoted or has a directory."""


def show_error(error: UserError) -> None:
    """Prints the message and, below it, the remedy."""
    _say("error: ", "bold red", error.message)
    if error.remedy:
        _say("remedy: ", "bold green", as_typed(error.remedy))


def as_typed(remedy: str) -> str:
    """The remedy with its commands as the launcher of a checkout was called, which no PATH has; unchanged without a launcher."""
    typed = os.environ.get("WINDTUNNEL_TYPED")
    return _COMMAND.sub(lambda _: as_argument(typed), remedy) if typed else remedy


def show_warning(words: str) -> None:
    _say("warning: ", "bold yellow", words)


def _say(label: str, style: str, words: str) -> None:
    console = HarmlessConsole(stderr=True, soft_wrap=True)
    first, *more = words.split("\n")
    console.print(Text.assemble((label, style), first))
    for line in more:
        console.print(Text.assemble(("| ", "dim"), line))
