"""What lies below a directory, to a depth and to a number: what somebody sent may have thousands of directories, one below the other, or a
million of them, which a small archive unpacks to."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from windtunnel.errors import UserError

MOST_DEPTH = 32
"""A trial of a study in a directory for each day has seven."""
MOST_DIRECTORIES = 100_000
"""A run has one. To look at as many takes seconds."""
MOST_NAMES = 1_000_000
"""In all of them; a run has some ten."""


def walk(
    root: Path,
    most_depth: int = MOST_DEPTH,
    most_directories: int = MOST_DIRECTORIES,
    left_out: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Path, list[str], list[str]]]:
    """As os.walk, the directories nearest to the root first: each directory, and the names in it of directories, which the caller may take
    out, and of files. No link is followed. What is deeper than `most_depth` is left out. So is what is further away than `most_directories`,
    or than MOST_NAMES: of that `left_out` is told."""
    waiting, names_left = deque([(root, 0)]), MOST_NAMES
    for _ in range(most_directories):
        if not waiting:
            return
        here, depth = waiting.popleft()
        directories: list[str] = []
        files: list[str] = []
        links = set()
        try:
            with os.scandir(here) as entries:
                for entry in islice(entries, names_left):
                    (directories if entry.is_dir() else files).append(entry.name)
                    if entry.is_symlink():
                        links.add(entry.name)
        except OSError:  # it cannot be read, or was removed meanwhile
            continue
        names_left -= len(directories) + len(files)
        if depth >= most_depth:
            directories.clear()
        yield here, directories, files
        if names_left == 0:
            break
        waiting += [(here / name, depth + 1) for name in directories if name not in links]
    if waiting or names_left == 0:
        left_out()


def walk_whole(root: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """As `walk`, for who has to see everything. Raises UserError if something is deeper than MOST_DEPTH, or too many are there."""

    def refuse() -> None:
        raise UserError(
            f"{root}: more than {MOST_DIRECTORIES:,} directories or {MOST_NAMES:,} names below it",
            remedy="name a directory below it",
        )

    for here, directories, files in walk(root, MOST_DEPTH + 1, left_out=refuse):
        if len(here.parts) - len(root.parts) > MOST_DEPTH:
            raise UserError(
                f"{here}: more than {MOST_DEPTH} directories below {root}",
                remedy="remove what is deeper, or name a directory below it",
            )
        yield here, directories, files
