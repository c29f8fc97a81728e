"""Programs that are installed on this host, by name: in the directories of the system alone, because others may have written those of PATH."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from windtunnel.engine.own_directory import is_own

DIRECTORIES = tuple(
    Path(place) for place in ("/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin")
)
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def installed(name: str, directories: Sequence[Path] = DIRECTORIES) -> Path | None:
    """The program's absolute path, links followed. None: it is not there, or somebody other than root and this user may change it, or a link or a
    directory on the way to it."""
    for path in (directory / name for directory in directories):
        if os.access(path, os.X_OK) and _is_program(path) and is_own(path):
            return path.resolve()
    return None


def _is_program(path: Path) -> bool:
    mode = path.stat().st_mode
    return stat.S_ISREG(mode) and not mode & _OTHERS_WRITE
