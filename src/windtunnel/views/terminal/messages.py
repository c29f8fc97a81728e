"""A UserError or a warning on stderr. Nothing in it is markup."""

from rich.console import Console
from rich.text import Text

from windtunnel.errors import UserError


def show_error(error: UserError) -> None:
    """Prints the message and, below it, the remedy."""
    _say("error: ", "bold red", error.message)
    if error.remedy:
        _say("remedy: ", "bold green", error.remedy)


def show_warning(words: str) -> None:
    _say("warning: ", "bold yellow", words)


def _say(label: str, style: str, words: str) -> None:
    Console(stderr=True, soft_wrap=True, highlight=False).print(Text.assemble((label, style), _harmless(words)))


def _harmless(words: str) -> str:
    """Text from a file may contain terminal escapes: they are shown, not executed."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in words)
