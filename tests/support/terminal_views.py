"""What a view shows off a terminal."""

import io
from typing import Any

from rich.console import Console


def printed(view: Any, width: int = 160) -> str:
    console = Console(width=width, file=io.StringIO())
    console.print(view)
    return console.file.getvalue()
