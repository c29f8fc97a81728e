"""The registry of parts: the list of them, and how a room of the spine gets what each part has for it.

A part is a capability that one could do without: a folder of one name in each language, as `windtunnel.parts.streams`. A module in it has the
name of what rooms ask parts for, as `plan` or `blocks`. Rooms ask for these modules here; they know no part.

`setup/remove-part NAME` takes a part out: its folders, its name in this list and in that of engine/parts/meson.build, and what it has elsewhere.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

PARTS = [
    "copies",
    "rdma",
    "streams",
    "tables",
    "swx",
    "pcie",
    "models",
    "fleet",
    "axio",
    "diagnose",
    "tune",
    "ui",
    "reproduce",
    "attach",
]
"""One line a part, behind those that it uses."""


@cache
def part_modules(name: str) -> tuple[ModuleType, ...]:
    """The module of this name of each part that has one, in the order of the list."""
    places = (f"windtunnel.parts.{part}.{name}" for part in PARTS)
    return tuple(import_module(place) for place in places if find_spec(place))


def part_folder(name: str) -> Path:
    """Where the part of this name is."""
    return Path(__file__).parent / "parts" / name


def part_functions(name: str, function: str) -> list[Callable[..., Any]]:
    """The function of this name in each part's module `name`, without the parts that do not have it, in the order of the list."""
    return [getattr(module, function) for module in part_modules(name) if hasattr(module, function)]
