"""What parts have for tests of the spine, in tests/parts/NAME/NAME_samples.py, if a part has such."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from windtunnel.part_registry import PARTS, part_modules


def part_samples(name: str) -> list[Any]:
    """What this name stands for in the samples of each part that has it."""
    modules = [import_module(f"{part}_samples") for part in PARTS if find_spec(f"{part}_samples")]
    return [getattr(module, name) for module in modules if hasattr(module, name)]


def plan_fields(model: str) -> dict[str, None]:
    """The fields that parts add to a model of the plan, as a plan has them that needs no part."""
    return dict.fromkeys(name for part in part_modules("plan") for name in getattr(part, model, {}))
