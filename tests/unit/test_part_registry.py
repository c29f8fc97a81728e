"""A part can be taken out of the package: its folder, and its name in the registry. ./test long parts takes one out of a checkout."""

import json
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import cache_from_source
from pathlib import Path

import pytest

import windtunnel
from windtunnel.engine.find import VARIABLE
from windtunnel.part_registry import PARTS

CHECKOUT = Path(__file__).parents[2]
PACKAGE = Path(windtunnel.__file__).parent
pytestmark = pytest.mark.slow
CHECKS = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from windtunnel.cli import main

def checked(scenario):
    sys.argv = ["windtunnel", "check", scenario]
    with redirect_stdout(output := io.StringIO()), redirect_stderr(output):
        try:
            main()
        except SystemExit as ended:
            return ended.code or 0, output.getvalue()
    return 0, output.getvalue()

print(json.dumps({scenario: checked(scenario) for scenario in sys.argv[1:]}))
"""
"""What `windtunnel check` ends with and prints, scenario by scenario, in one process."""
WITH_USERS = runpy.run_path(str(CHECKOUT / "setup/remove-part"))["with_users"]


def has(part: str, module: str) -> bool:
    return (PACKAGE / "parts" / part / f"{module}.py").exists()


def scenarios_of(part: str) -> list[str]:
    catalogue = runpy.run_path(str(PACKAGE / "parts" / part / "catalogue.py")) if has(part, "catalogue") else {}
    return [name for names in catalogue.get("SCENARIOS", {}).values() for name in names]


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A copy of the package, which is compiled once."""
    return shutil.copytree(
        PACKAGE, tmp_path_factory.mktemp("copy") / "windtunnel", ignore=shutil.ignore_patterns("__pycache__")
    )


@contextmanager
def without(parts: list[str], package: Path, aside: Path) -> Iterator[None]:
    registry = package / "part_registry.py"
    text = left = registry.read_text()
    for part in parts:
        line = f'    "{part}",\n'
        assert line in left
        left = left.replace(line, "")
        (package / "parts" / part).rename(aside / part)
    registry.write_text(left)
    # two texts of one length within a second are one text to Python
    compiled = Path(cache_from_source(str(registry)))
    compiled.unlink(missing_ok=True)
    yield
    compiled.unlink(missing_ok=True)
    registry.write_text(text)
    for part in parts:
        (aside / part).rename(package / "parts" / part)


def check(directory: Path, scenarios: list[str]) -> dict[str, tuple[int, str]]:
    environment = os.environ | {"PYTHONPATH": str(directory), "COLUMNS": "200"}
    environment.pop(VARIABLE, None)  # an engine may have what the package has no more
    files = [str(CHECKOUT / f"scenarios/{scenario}.toml") for scenario in scenarios]
    ended = subprocess.run(
        [sys.executable, "-c", CHECKS, *files], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return dict(zip(scenarios, map(tuple, json.loads(ended.stdout).values()), strict=True))


@pytest.mark.parametrize("part", PARTS)
def test_without_a_part_its_keys_are_unknown_and_other_scenarios_are_valid(package, tmp_path, part):
    removed = WITH_USERS(part, PARTS)
    left = ["echo", *(scenarios_of(other)[0] for other in PARTS if other not in removed and scenarios_of(other))]
    unknown = [scenarios_of(other)[0] for other in removed if has(other, "keys") and scenarios_of(other)]
    with without(removed, package, tmp_path):
        checked = check(package.parent, left + unknown)
    assert {name: checked[name][0] for name in left} == dict.fromkeys(left, 0)
    for name in unknown:
        code, output = checked[name]
        assert code == 2 and "unknown key" in output and "Traceback" not in output, output
