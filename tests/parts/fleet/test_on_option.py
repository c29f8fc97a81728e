"""How --on opens a fleet."""

import tomllib
from pathlib import Path

import pytest

from windtunnel.cli import on
from windtunnel.errors import UserError
from windtunnel.parts.fleet import on_option

PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"


def test_what_no_other_executor_takes_is_a_fleet():
    with pytest.raises(UserError, match='--on x://y: "x://y" is not an address of a Ray cluster'), on.executor("x://y"):
        pass


def test_its_extra_brings_ray():
    extras = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]
    assert [text for text in extras[on_option.EXTRA] if text.startswith("ray")]
