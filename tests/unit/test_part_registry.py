"""A part can be taken out of the package: its folder, and its name in the registry. ./test long parts takes one out of a checkout."""

import json
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


def take_out(parts: list[str], directory: Path) -> None:
    package = directory / "windtunnel"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    registry = package / "part_registry.py"
    for part in parts:
        text, line = registry.read_text(), f'    "{part}",\n'
        assert line in text
        registry.write_text(text.replace(line, ""))
        shutil.rmtree(package / "parts" / part)


def check(directory: Path, scenarios: list[str]) -> dict[str, tuple[int, str]]:
    environment = os.environ | {"PYTHONPATH": str(directory), "COLUMNS": "200"}
    files = [str(CHECKOUT / f"scenarios/{scenario}.toml") for scenario in scenarios]
    ended = subprocess.run(
        [sys.executable, "-c", CHECKS, *files], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return dict(zip(scenarios, map(tuple, json.loads(ended.stdout).values()), strict=True))


@pytest.mark.parametrize("part", PARTS)
def test_without_a_part_its_keys_are_unknown_and_other_scenarios_are_valid(tmp_path, part):
    removed = WITH_USERS(part, PARTS)
    take_out(removed, tmp_path)
    left = ["echo", *(scenarios_of(other)[0] for other in PARTS if other not in removed and scenarios_of(other))]
    unknown = [scenarios_of(other)[0] for other in removed if has(other, "keys") and scenarios_of(other)]
    checked = check(tmp_path, left + unknown)
    assert {name: checked[name][0] for name in left} == dict.fromkeys(left, 0)
    for name in unknown:
        code, output = checked[name]
        assert code == 2 and "unknown key" in output and "Traceback" not in output, output
