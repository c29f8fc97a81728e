"""A part can be taken out: its folder, and its name in the registry."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import windtunnel
from windtunnel.part_registry import PARTS

PACKAGE = Path(windtunnel.__file__).parent
SCENARIOS = Path(__file__).parents[3] / "scenarios"
pytestmark = pytest.mark.slow
COMMAND_LINE = "import sys; sys.argv[0] = 'windtunnel'; from windtunnel.cli import main; main()"


def package_with(parts: tuple[str, ...], directory: Path) -> None:
    package = directory / "windtunnel"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    registry = package / "part_registry.py"
    text, listed = registry.read_text(), f"PARTS = {PARTS!r}".replace("'", '"')
    assert listed in text
    registry.write_text(text.replace(listed, f"PARTS: tuple[str, ...] = {parts!r}"))
    for part in set(PARTS) - set(parts):
        shutil.rmtree(package / "parts" / part)


def check(directory: Path, scenario: str) -> tuple[int, str]:
    environment = os.environ | {"PYTHONPATH": str(directory), "COLUMNS": "200"}
    command = [sys.executable, "-c", COMMAND_LINE, "check", SCENARIOS / scenario]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout + ended.stderr


def test_without_a_part_all_but_its_keys_works(tmp_path):
    package_with((), tmp_path)
    assert check(tmp_path, "echo.toml")[0] == 0
    code, output = check(tmp_path, "stream.toml")
    assert code == 2 and "stream" in output and "Traceback" not in output


def test_the_parts_that_stay_have_their_keys(tmp_path):
    package_with(("copies",), tmp_path)
    assert check(tmp_path, "copy-model.toml")[0] == 0
    assert check(tmp_path, "stream.toml")[0] == 2
