"""Whose the code is that the daemon runs, and what it starts: the guardian and the sweepers from the same package, and a slicer.

As root it runs code that only root may change. A checkout or a virtual environment of a user is that user's to change, and whoever changes it
would be root at the next start.
"""

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import windtunnel
from windtunnel.engine.find import find_engine
from windtunnel.errors import UserError
from windtunnel.sharing.native import SLICER, find_native

ROOT = 0
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def check() -> None:
    """Raises UserError if this is root, and another user may change what it runs."""
    if os.geteuid() != ROOT:
        return
    if why := open_to_others(*places()):
        raise UserError(
            f"{why}: who may write there would run code as root",
            remedy="install windtunnel where only root writes (docs/how-to/share-cores.md), or give --from-anywhere if you trust these users",
        )


def places() -> Iterator[Path]:
    """What is run: the interpreter, whatever it imports from, this package file by file, the engine and the slicer."""
    package = Path(windtunnel.__file__).parent
    yield package
    yield from package.rglob("*")
    yield from map(Path, (sys.executable, sys.prefix, sys.base_prefix))
    yield from (Path(entry).absolute() for entry in sys.path)
    for find in (find_engine, lambda: find_native(SLICER)):
        with suppress(UserError):  # it is not installed, which whoever needs it says
            yield find()


def open_to_others(*paths: Path) -> str | None:
    """The first on the way to any of these that another user than root may change, with whose it is and its mode: itself, what a link leads
    to, and each directory above. None: there is none."""
    for one in _way(paths, set()):
        try:
            found = one.lstat()
        except FileNotFoundError:  # as entries of sys.path may be
            continue
        is_link, sticky = stat.S_ISLNK(found.st_mode), stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
        if found.st_uid != ROOT or (found.st_mode & _OTHERS_WRITE and not (is_link or sticky)):
            return f"{one} is of user {found.st_uid}, mode {stat.S_IMODE(found.st_mode):04o}"
    return None


def _way(paths: Iterable[Path], seen: set[Path]) -> Iterator[Path]:
    for path in paths:
        if path in seen:
            continue
        seen.add(path)
        yield from _way(path.parents, seen)
        yield path
        if path.is_symlink():
            yield from _way((path.parent / path.readlink(),), seen)
