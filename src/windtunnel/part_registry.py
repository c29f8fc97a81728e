"""The registry of parts: the only place outside of their folders that names one.

A part is a capability that one could do without: a folder of one name in each language, as `windtunnel.parts.streams`. What it brings to a room
of the spine is a module of that room's name in its folder, as `plan` or `blocks`. Rooms ask for these modules here; they know no part.

To take a part out, delete its folders and its name in this list.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

PARTS = ("copies", "streams")


@cache
def part_modules(name: str) -> tuple[ModuleType, ...]:
    """The module of this name of each part that has one, in the order of the list."""
    places = (f"windtunnel.parts.{part}.{name}" for part in PARTS)
    return tuple(import_module(place) for place in places if find_spec(place))


def part_functions(name: str, function: str) -> list[Callable[..., Any]]:
    """The function of this name of each such module that has it: a part has the hooks that it needs."""
    return [getattr(module, function) for module in part_modules(name) if hasattr(module, function)]
