"""What a document, or a block of one, shows off a terminal."""

import io

from rich.console import Console, Group, RenderableType

from windtunnel.results.document import Block, Document
from windtunnel.results.terminal.renderer import blocks_view, document_view


def printed(shown: Document | Block | RenderableType, width: int = 160) -> str:
    console = Console(width=width, file=io.StringIO())
    if isinstance(shown, Document):
        console.print(document_view(shown))
    elif isinstance(shown, Block):
        console.print(Group(*blocks_view([shown])))
    else:
        console.print(shown)
    return console.file.getvalue()
