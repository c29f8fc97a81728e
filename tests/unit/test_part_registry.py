"""A part can be taken out of the package: its folder, and its name in the registry. ./test long parts takes one out of a checkout."""

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import windtunnel
from windtunnel.part_registry import PARTS

CHECKOUT = Path(__file__).parents[2]
PACKAGE = Path(windtunnel.__file__).parent
pytestmark = pytest.mark.slow
COMMAND_LINE = "import sys; sys.argv[0] = 'windtunnel'; from windtunnel.cli import main; main()"
WITH_USERS = runpy.run_path(str(CHECKOUT / "setup/remove-part"))["with_users"]


def has(part: str, module: str) -> bool:
    return (PACKAGE / "parts" / part / f"{module}.py").exists()


def scenarios_of(part: str) -> list[str]:
    catalogue = runpy.run_path(str(PACKAGE / "parts" / part / "catalogue.py")) if has(part, "catalogue") else {}
    return [name for names in catalogue.get("SCENARIOS", {}).values() for name in names]


def take_out(parts: list[str], directory: Path) -> None:
    package = directory / "windtunnel"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    registry = package / "part_registry.py"
    for part in parts:
        text, line = registry.read_text(), f'    "{part}",\n'
        assert line in text
        registry.write_text(text.replace(line, ""))
        shutil.rmtree(package / "parts" / part)


def check(directory: Path, scenario: str) -> tuple[int, str]:
    environment = os.environ | {"PYTHONPATH": str(directory), "COLUMNS": "200"}
    command = [sys.executable, "-c", COMMAND_LINE, "check", CHECKOUT / f"scenarios/{scenario}.toml"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.parametrize("part", PARTS)
def test_without_a_part_its_keys_are_unknown_and_other_scenarios_are_valid(tmp_path, part):
    removed = WITH_USERS(part, PARTS)
    take_out(removed, tmp_path)
    left = [scenarios_of(other)[0] for other in PARTS if other not in removed and scenarios_of(other)]
    assert {name: check(tmp_path, name)[0] for name in ["echo", *left]} == dict.fromkeys(["echo", *left], 0)
    for unknown in (scenarios_of(other)[0] for other in removed if has(other, "keys") and scenarios_of(other)):
        code, output = check(tmp_path, unknown)
        assert code == 2 and "unknown key" in output and "Traceback" not in output, output
