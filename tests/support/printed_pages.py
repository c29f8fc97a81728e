"""What a page of the documentation has its reader save and enter."""

import re
from pathlib import Path
from typing import NamedTuple

_BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$|`(\./windtunnel [^`]+)`", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """What stands between two fences: commands, or a file with its name; or one command in the running text."""

    language: str
    file: str
    content: str


def blocks(page: Path) -> list[Block]:
    found = _BLOCK.finditer(page.read_text())
    return [Block("sh", "", match[4]) if match[4] else Block(match[1], match[2] or "", match[3]) for match in found]


def save(block: Block, directory: Path) -> None:
    """Writes the file below the directory, as the reader would."""
    (directory / block.file).parent.mkdir(exist_ok=True)
    (directory / block.file).write_text(block.content)
