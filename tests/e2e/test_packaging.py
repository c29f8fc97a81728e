"""Wheel and source distribution: built from a copy of this checkout, installed into an environment of their own, and used there.

Without a network: the environment finds every other package in the one that runs the tests.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest
from fake_runs import FAKE

from windtunnel.version import __version__

CHECKOUT = Path(__file__).resolve().parents[2]
GENERATED = shutil.ignore_patterns("__pycache__", "*.egg-info", ".*_cache", "*.so")
TOP = shutil.ignore_patterns(".git", ".venv", ".dpdk", ".hypothesis", "build*", "runs")
"""What a checkout gathers at its top."""
ENGINE = ("engine", "sharing", "include", "setup", "plugins", "bench", "scenarios", "studies", "schemas")
"""Rooms that building and trying the engine needs."""


def call(*words, cwd: Path, code: int = 0, **variables: str) -> subprocess.CompletedProcess:
    """Without this process's paths to packages; what ends with another code is shown."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables
    how = {"cwd": cwd, "env": environment, "timeout": 300}
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, **how)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def built(kind: str, source: Path, out: Path) -> Path:
    """The distribution of this kind (sdist or wheel), as build makes it of the source."""
    call(sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "--outdir", out, source, cwd=source.parent)
    [distribution] = out.glob("*.tar.gz" if kind == "sdist" else "*.whl")
    return distribution


def files_below(room: Path) -> set[str]:
    """Paths within the room; links are followed, as a distribution follows them."""
    places = (Path(directory) / name for directory, _, names in os.walk(room, followlinks=True) for name in names)
    return {str(place.relative_to(room)) for place in places if "__pycache__" not in place.parts}


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """A copy of the checkout: building a distribution writes into its source."""
    copy = tmp_path_factory.mktemp("source") / "windtunnel"

    def left_behind(directory: str, names: list[str]) -> set[str]:
        return GENERATED(directory, names) | (TOP(directory, names) if directory == str(CHECKOUT) else set())

    shutil.copytree(CHECKOUT, copy, symlinks=True, ignore=left_behind)
    return copy


@pytest.fixture(scope="module")
def sdist(source) -> Path:
    return built("sdist", source, source.parent / "dist")


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory) -> Path:
    """From what the source distribution holds, as pip makes it."""
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    return built("wheel", unpacked / f"windtunnel-{__version__}", sdist.parent)


@pytest.fixture(scope="module")
def sharing(source) -> Path:
    """The wheel of windtunnel-sharing, which is built beside windtunnel."""
    return built("wheel", source / "sharing", source.parent / "dist-sharing")


@pytest.fixture(scope="module")
def installed(wheel, sharing, tmp_path_factory) -> Path:
    """Where the commands are of an environment that holds both wheels."""
    place = tmp_path_factory.mktemp("installed")
    call(sys.executable, "-m", "venv", "--without-pip", place / "venv", cwd=place)
    ours = sysconfig.get_path("purelib", vars={"base": str(place / "venv"), "platbase": str(place / "venv")})
    (Path(ours) / "others.pth").write_text(f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n")
    python = place / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python]
    call(*pip, "install", "--no-index", "--no-deps", wheel, sharing, cwd=place)
    return python.parent


def test_the_source_distribution_has_the_version_of_the_package(sdist):
    assert sdist.name == f"windtunnel-{__version__}.tar.gz"


def test_the_wheel_has_the_version_and_every_file_of_the_package(wheel, source):
    assert wheel.name == f"windtunnel-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        held = {name.removeprefix("windtunnel/") for name in archive.namelist() if name.startswith("windtunnel/")}
    assert held == files_below(source / "src" / "windtunnel")
    assert {"templates/echo.toml", "results/page/document.html"} <= held


def test_the_source_distribution_holds_what_building_the_engine_needs(sdist, source):
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    for room in ENGINE:
        assert {f"{room}/{file}" for file in files_below(source / room)} <= held
    assert {"meson.build", "meson_options.txt", "windtunnel", "test", "pyproject.toml", "README.md", "LICENSE"} <= held


def test_an_installed_windtunnel_shows_its_version_and_how_to_get_the_engine(installed, tmp_path):
    said = call(installed / "windtunnel", "--version", cwd=tmp_path, WINDTUNNEL_ENGINE=str(FAKE)).stdout
    assert said.startswith(f"windtunnel {__version__}\nwindtunnel-engine ")
    path = f"{installed}:/usr/bin:/bin"
    said = call(installed / "windtunnel", "--version", cwd=tmp_path, PATH=path, WINDTUNNEL_ENGINE="").stdout
    install = f"apt install ./windtunnel-engine_{__version__}_*.deb, or build it"
    assert f"no windtunnel-engine found on PATH ({install}" in said


def test_an_installed_template_is_checked_and_run(installed, tmp_path):
    engine = {"WINDTUNNEL_ENGINE": str(FAKE), "FAKE_ENGINE": "run"}
    call(installed / "windtunnel", "init", "echo", "mine.toml", cwd=tmp_path)
    assert "mine.toml" in call(installed / "windtunnel", "check", "mine.toml", cwd=tmp_path, **engine).stdout
    short = ("--set", "duration=100ms", "--set", "warmup=0s", "--set", "window=50ms")
    call(installed / "windtunnel", "run", "mine.toml", *short, "--out", "here", cwd=tmp_path, **engine)
    assert "<style>" in (tmp_path / "here" / "report.html").read_text()


def test_what_share_reproduce_runs_stays_in_the_checkout(installed, tmp_path):
    done = call(installed / "windtunnel", "share", "reproduce", "fig10", "--quick", cwd=tmp_path, code=2)
    assert "sharing/studies/pvcc/" in done.stderr and "./windtunnel share reproduce" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_command_of_another_package_comes_in_through_its_entry_point(installed, tmp_path):
    assert "share" in call(installed / "windtunnel", "--help", cwd=tmp_path).stdout
    assert "Usage" in call(installed / "windtunnel", "share", "--help", cwd=tmp_path).stdout


def test_the_wheel_of_sharing_has_its_files_and_its_man_pages_and_is_of_our_version(sharing, source):
    with zipfile.ZipFile(sharing) as wheel:
        names = wheel.namelist()
        metadata = next(wheel.read(name).decode() for name in names if name.endswith("/METADATA"))
    held = {name.removeprefix("windtunnel_sharing/") for name in names if name.startswith("windtunnel_sharing/")}
    assert held == files_below(source / "sharing" / "src" / "windtunnel_sharing")
    assert f"Version: {__version__}\n" in metadata and f"Requires-Dist: windtunnel=={__version__}\n" in metadata
    pages = {name.rpartition("/")[2] for name in names if name.endswith(".1")}
    assert {"windtunnel-share.1", "windtunnel-share-serve.1"} <= pages and "windtunnel-run.1" not in pages
