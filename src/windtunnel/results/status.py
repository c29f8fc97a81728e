"""What a process announces of itself beside its runs and their progress. A part brings it, in its module `status`, and another shows it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from windtunnel.part_registry import part_modules
from windtunnel.results.document import Table


@dataclass(frozen=True)
class Status:
    """A table about a process. The first column has a string for each row, the others have `Marked` texts."""

    title: str
    caption: str
    table: Table
    aside: str
    """What is said of the process while it has no run on this host."""


@cache
def parsers() -> dict[str, Callable[[Any], Status]]:
    """Name of a status -> the function that makes it from what is announced under this name. It raises ValueError for what is none."""
    return {part.NAME: part.parsed for part in part_modules("status")}
