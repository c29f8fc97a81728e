"""What lies below a directory, to a depth: what somebody sent may have thousands of directories, one below the other."""

import os
from collections.abc import Iterator
from pathlib import Path

from windtunnel.errors import UserError

MOST_DEPTH = 32
"""A trial of a study in a directory for each day has seven. os.walk calls itself for each one before Python 3.12."""


def walk(root: Path, most_depth: int = MOST_DEPTH) -> Iterator[tuple[Path, list[str], list[str]]]:
    """As os.walk: each directory, and the names in it of directories, which the caller may take out, and of files. No link is followed.
    What is deeper than `most_depth` is left out."""
    for place, directories, files in os.walk(root):
        here = Path(place)
        if len(here.parts) - len(root.parts) >= most_depth:
            directories.clear()
        yield here, directories, files


def walk_whole(root: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """As `walk`, for who has to see everything. Raises UserError if something is deeper than MOST_DEPTH."""
    for here, directories, files in walk(root, MOST_DEPTH + 1):
        if len(here.parts) - len(root.parts) > MOST_DEPTH:
            raise UserError(
                f"{here}: more than {MOST_DEPTH} directories below {root}",
                remedy="remove what is deeper, or name a directory below it",
            )
        yield here, directories, files
