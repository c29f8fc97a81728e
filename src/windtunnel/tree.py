"""Walks a directory with bounds of depth and number: an untrusted directory may have thousands of nested directories, or a million of them, from
a small archive."""

import os
from collections import deque
from collections.abc import Callable, Collection, Iterator
from itertools import islice
from pathlib import Path

from windtunnel.errors import UserError

MOST_DEPTH = 32
"""Depth of directories. A trial of a study in a directory for each day has seven."""
MOST_DIRECTORIES = 100_000
"""Directories that are walked, which takes seconds. A run has one."""
MOST_NAMES = 1_000_000
"""Names in all directories together; a run has some ten."""


def walk(
    root: Path,
    most_depth: int = MOST_DEPTH,
    most_directories: int = MOST_DIRECTORIES,
    left_out: Callable[[], None] = lambda: None,
    shut: Callable[[Path, OSError], None] = lambda directory, error: None,
) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Walks like os.walk, but breadth first: yields each directory, the names of directories in it, which the caller may remove, and those of
    files. No link is followed. Directories deeper than `most_depth` are left out. So are those beyond `most_directories` or MOST_NAMES, and
    then `left_out` is called. `shut` is called for a directory that cannot be opened."""
    waiting, names_left = deque([(root, 0)]), MOST_NAMES
    for _ in range(most_directories):
        if not waiting:
            return
        directory, depth = waiting.popleft()
        directories: list[str] = []
        files: list[str] = []
        links = set()
        try:
            with os.scandir(directory) as entries:
                for entry in islice(entries, names_left):
                    (directories if entry.is_dir() else files).append(entry.name)
                    if entry.is_symlink():
                        links.add(entry.name)
        except (FileNotFoundError, NotADirectoryError):  # it was removed meanwhile
            continue
        except OSError as error:
            shut(directory, error)
            continue
        names_left -= len(directories) + len(files)
        if depth >= most_depth:
            directories.clear()
        yield directory, directories, files
        if names_left == 0:
            break
        waiting += [(directory / name, depth + 1) for name in directories if name not in links]
    if waiting or names_left == 0:
        left_out()


def walk_whole(root: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Walks like `walk`, for a caller that needs everything. Raises UserError if a directory is deeper than MOST_DEPTH, or if there are too many."""

    def refuse() -> None:
        raise UserError(
            f"{root}: more than {MOST_DIRECTORIES:,} directories or {MOST_NAMES:,} names below it",
            remedy="name a directory below it",
        )

    for directory, directories, files in walk(root, MOST_DEPTH + 1, left_out=refuse):
        if len(directory.parts) - len(root.parts) > MOST_DEPTH:
            raise UserError(
                f"{directory}: more than {MOST_DEPTH} directories below {root}",
                remedy="remove what is deeper, or name a directory below it",
            )
        yield directory, directories, files


def leads_to_a_record_elsewhere(link: Path, root: Path, names: Collection[str]) -> bool:
    """Whether a link leads out of `root` to a directory with a file of one of these names: no walk follows it, so the file would be missed."""
    try:
        outside = not link.resolve().is_relative_to(root.resolve())
        return outside and any((link / name).is_file() for name in names)
    except (OSError, RuntimeError):  # it leads nowhere, in a circle, or where this user may not look
        return True
