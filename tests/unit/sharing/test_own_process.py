"""The guardian and the sweeper run what is installed, whatever lies in HOME or in the directory in which a daemon is started."""

import os
import sys
from pathlib import Path

import pytest

from windtunnel.sharing import own_process
from windtunnel.sharing.changed_threads import held
from windtunnel.sharing.pools.remove_groups import swept

pytestmark = pytest.mark.slow


@pytest.fixture
def ran(tmp_path, monkeypatch) -> Path:
    """A file that a package of our name in the current directory would write, if anybody imported it."""
    here = tmp_path / "here"
    package = here / "windtunnel"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nraise SystemExit(1)\n")
    monkeypatch.chdir(here)
    installed = [os.path.relpath(entry, here) for entry in sys.path if entry]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", *installed]))
    return tmp_path / "ran"


def test_a_guardian_takes_no_code_from_the_current_directory(ran, tmp_path):
    said: list[str] = []
    with held(Path("../journals") / "a.journal", said.append):
        pass
    assert not ran.exists() and said == [] and not list((tmp_path / "journals").iterdir())


def test_a_sweeper_takes_no_code_from_the_current_directory(ran, tmp_path):
    (tmp_path / "group" / "inner").mkdir(parents=True)
    with swept(Path("../group")):
        pass
    assert not ran.exists() and not (tmp_path / "group").exists()


def test_nothing_of_home_is_run(tmp_path, monkeypatch):
    """A virtual environment takes nothing from there either."""
    monkeypatch.setenv("PYTHONUSERBASE", str(tmp_path))
    monkeypatch.setattr(own_process.sys, "executable", sys._base_executable)
    packages = tmp_path / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "usercustomize.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    assert own_process.start("this", [], []).wait(60) == 0
    assert not (tmp_path / "ran").exists()
