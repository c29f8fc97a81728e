"""A UserError in words on stderr."""

from rich.console import Console
from rich.text import Text

from windtunnel.errors import UserError


def show_error(error: UserError) -> None:
    """Prints what is wrong and, below it, what would be right. Nothing in it is taken for markup."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    console.print(Text.assemble(("error: ", "bold red"), error.message))
    if error.remedy:
        console.print(Text.assemble(("remedy: ", "bold green"), error.remedy))
