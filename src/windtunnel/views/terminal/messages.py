"""A UserError, or a warning, in words on stderr. Nothing in them is taken for markup."""

from rich.console import Console
from rich.text import Text

from windtunnel.errors import UserError


def show_error(error: UserError) -> None:
    """Prints what is wrong and, below it, what would be right."""
    _say("error: ", "bold red", error.message)
    if error.remedy:
        _say("remedy: ", "bold green", error.remedy)


def show_warning(words: str) -> None:
    _say("warning: ", "bold yellow", words)


def _say(label: str, style: str, words: str) -> None:
    Console(stderr=True, soft_wrap=True, highlight=False).print(Text.assemble((label, style), _harmless(words)))


def _harmless(words: str) -> str:
    """What came from a file may hold a terminal's commands: they are shown, not obeyed."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in words)
