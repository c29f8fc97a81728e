"""A library that the loader takes into a program that is started."""

import os
from pathlib import Path

from windtunnel.errors import UserError

VARIABLE = "LD_PRELOAD"
_READ_BY_THE_LOADER = " :$"
"""It splits the variable at a blank and a colon, and replaces $ORIGIN and the like (ld.so(8))."""


def preloading(library: Path) -> dict[str, str]:
    """The variables of the environment with which a program has this library in it. Raises UserError for a path that the loader would take for
    another one: the second half of a path with a blank is a file below the working directory, where another user may have put one."""
    if any(character in str(library) for character in _READ_BY_THE_LOADER):
        raise UserError(
            f"{library}: the loader takes no path with a blank, a colon or $ for one library",
            remedy="move Windtunnel to a directory without these characters",
        )
    before = os.environ.get(VARIABLE)
    return {VARIABLE: f"{library}:{before}" if before else str(library)}
