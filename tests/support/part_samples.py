"""What parts have for tests of the spine, in tests/parts/NAME/NAME_samples.py, if a part has such."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

from windtunnel.part_registry import PARTS, part_modules


def modules_of_samples() -> list[str]:
    """The samples of the parts that have some. A module of them can have fixtures for all tests."""
    return [f"{part}_samples" for part in PARTS if find_spec(f"{part}_samples")]


def part_samples(name: str) -> list[Any]:
    """What this name stands for in the samples of each part that has it."""
    modules = [import_module(module) for module in modules_of_samples()]
    return [getattr(module, name) for module in modules if hasattr(module, name)]


def use_fixtures(scenario: str, request: pytest.FixtureRequest) -> None:
    """Sets up the fixture that a run of this shipped scenario needs, if it is a part's and needs one."""
    for fixtures in part_samples("FIXTURES"):
        if scenario in fixtures:
            request.getfixturevalue(fixtures[scenario])


def plan_fields(model: str) -> dict[str, None]:
    """The fields that parts add to a model of the plan, as a plan has them that needs no part."""
    return dict.fromkeys(name for part in part_modules("plan") for name in getattr(part, model, {}))
