"""The cache of compiled specs, whose objects are run as code, and the compiler's temporary files: another user chooses neither."""

import os
from pathlib import Path

import pytest
from scenario_tools import SHIPPED

from windtunnel.engine.find import find_engine
from windtunnel.parts.swx.query import compile_spec

OTHER = 54321
LONG_AGO = (0, 0)
pytestmark = pytest.mark.slow
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch, pipelines) -> Path:
    """Of this test alone; what cannot be kept there is kept below HOME."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "cache" / "windtunnel" / "swx"


def compiled(compiler: str = "gcc") -> Path:
    return compile_spec(find_engine(), str(SHIPPED / "swx-l2fwd.spec"), compiler)


def test_temporary_files_of_the_compiler_are_in_the_cache(tmp_path, monkeypatch, cache):
    """In the directory of another user, which `su` keeps as TMPDIR, that user could put other code in their place."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    compiler = tmp_path / "compiler"
    compiler.write_text(f'#!/bin/sh\n[ "$1" = --version ] || echo "$TMPDIR" >>"{tmp_path}/told"\nexec gcc "$@"\n')
    compiler.chmod(0o755)
    assert compiled(str(compiler)).parent == cache
    [place] = (tmp_path / "told").read_text().splitlines()
    assert Path(place).parent == cache


@needs_root
@pytest.mark.parametrize("part", ["cache", "cache/windtunnel", "cache/windtunnel/swx"])
def test_no_link_of_another_user_leads_to_the_cache(tmp_path, part):
    project = tmp_path / "project"
    (project / "swx" / "build-abcdef").mkdir(parents=True)
    (project / "windtunnel" / "swx" / "build-abcdef").mkdir(parents=True)
    (project / "build-abcdef").mkdir()
    for old in project.rglob("build-abcdef"):
        os.utime(old, LONG_AGO)
    link = tmp_path / part
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(project)
    os.chown(link, OTHER, OTHER, follow_symlinks=False)
    before = sorted(project.rglob("*"))
    assert compiled().is_relative_to(tmp_path / "home")
    assert sorted(project.rglob("*")) == before


def test_only_directories_of_killed_engines_are_removed(cache):
    for name in ("build-release", "build-abcdef"):
        (cache / name).mkdir(parents=True)
    (cache / "build-ghijkl").touch()
    (cache / "build-mnopqr").symlink_to(cache / "build-release")
    for old in cache.iterdir():
        os.utime(old, LONG_AGO, follow_symlinks=False)
    cache.chmod(0o700)
    assert {compiled().name, "build-release", "build-ghijkl", "build-mnopqr"} == set(os.listdir(cache))
