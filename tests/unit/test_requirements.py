"""setup/requirements/: what pyproject.toml asks for, of one version each, with the hashes of its files."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

CHECKOUT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
REQUIRED = PROJECT["build-system"]["requires"] + PROJECT["project"]["dependencies"]


def needed(*extras: str) -> list[str]:
    """What they ask for, with the extras of this package that they name."""
    asked = [text for extra in extras for text in EXTRAS[extra]]
    own = [name for pinned in map(Requirement, asked) if pinned.name == "windtunnel" for name in pinned.extras]
    return asked + (needed(*own) if own else [])


PURPOSES = {"run": needed("run"), "test": needed("test", "docs"), "mutants": needed("mutants")}


def locked(purpose: str) -> dict[str, list[tuple[Requirement, int]]]:
    """By package: each version, for the Pythons and machines that it is for, and the number of its hashes."""
    text = (CHECKOUT / "setup/requirements" / f"{purpose}.txt").read_text()
    packages: dict[str, list[tuple[Requirement, int]]] = {}
    for entry in re.split(r"\n(?=\S)", text):
        if not entry.startswith("#"):
            pinned = Requirement(entry.split("\\")[0])
            packages.setdefault(pinned.name, []).append(
                (pinned, len(re.findall(r"--hash=sha256:[0-9a-f]{64}\b", entry)))
            )
    return packages


@pytest.mark.parametrize("purpose", PURPOSES)
def test_each_package_has_a_version_and_hashes(purpose):
    packages = locked(purpose)
    for pinned, hashes in (each for versions in packages.values() for each in versions):
        assert hashes, pinned
        assert [part.operator for part in pinned.specifier] == ["=="], pinned
    for required in map(Requirement, REQUIRED + PURPOSES[purpose]):
        if required.name != "windtunnel":
            name = re.sub(r"[-_.]+", "-", required.name).lower()
            for pinned, _ in packages[name]:
                assert next(iter(pinned.specifier)).version in required.specifier, f"{required}: type ./test lock"


@pytest.mark.parametrize("purpose", ["run", "mutants"])
def test_a_package_has_one_version_for_all_purposes(purpose):
    tested = locked("test")
    for name, versions in locked(purpose).items():
        assert {str(pinned.specifier) for pinned, _ in versions} <= {
            str(pinned.specifier) for pinned, _ in tested.get(name, versions)
        }
