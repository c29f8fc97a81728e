"""A UserError or a warning on stderr. Nothing in it is markup, and each line but its first has a mark: none can be taken for another message."""

from rich.text import Text

from windtunnel.errors import UserError
from windtunnel.views.terminal.harmless import HarmlessConsole


def show_error(error: UserError) -> None:
    """Prints the message and, below it, the remedy."""
    _say("error: ", "bold red", error.message)
    if error.remedy:
        _say("remedy: ", "bold green", error.remedy)


def show_warning(words: str) -> None:
    _say("warning: ", "bold yellow", words)


def _say(label: str, style: str, words: str) -> None:
    console = HarmlessConsole(stderr=True, soft_wrap=True)
    first, *more = words.split("\n")
    console.print(Text.assemble((label, style), first))
    for line in more:
        console.print(Text.assemble(("| ", "dim"), line))
