"""The guardian and the sweeper run what is installed, whatever lies in HOME or in the directory in which a daemon is started."""

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from windtunnel_sharing import own_process
from windtunnel_sharing.changed_threads import held
from windtunnel_sharing.left_behind import LOCK
from windtunnel_sharing.pools import remove_groups
from windtunnel_sharing.pools.remove_groups import swept

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
    assert not ran.exists() and said == [] and [file.name for file in (tmp_path / "journals").iterdir()] == [LOCK]


def test_a_sweeper_takes_no_code_from_the_current_directory(ran, tmp_path):
    (tmp_path / "group" / "inner").mkdir(parents=True)
    with swept(Path("../group")):
        pass
    assert not ran.exists() and not (tmp_path / "group").exists()


@pytest.mark.parametrize(
    ("told", "waits_s"), [(b"restored", remove_groups.RESTORED_S), (b"", remove_groups.PATIENCE_S)]
)
def test_where_somebody_stays_a_sweeper_waits_long_for_a_guardian_alone(tmp_path, monkeypatch, told, waits_s):
    """A daemon that ends by itself has restored everybody whom anybody will."""
    (tmp_path / "inner" / "stays").mkdir(parents=True)
    clock = [0.0]
    sleep = lambda seconds: clock.append(clock.pop() + seconds)
    monkeypatch.setattr(remove_groups, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep))
    read, write = os.pipe()
    os.write(write, told)
    os.close(write)
    remove_groups.sweep(read, tmp_path)
    os.close(read)
    assert clock[0] == pytest.approx(waits_s, abs=2.1 * remove_groups.LOOK_S)


def test_each_sweeper_is_told_of_the_end_before_one_is_waited_for(tmp_path, monkeypatch):
    start, told, waited = own_process.start, [], []

    def started(*arguments):
        process = start(*arguments)
        wait = process.wait
        process.wait = lambda patience_s: waited.append(len(told)) or wait(patience_s)
        return process

    monkeypatch.setattr(own_process, "start", started)
    with ExitStack() as last:
        for name in ("one", "two"):
            with swept(tmp_path / name, last):
                pass
            told.append(name)
    assert waited == [2, 2]


def in_home(tmp_path, monkeypatch) -> Path:
    """Where Python looks for packages of the user; a virtual environment does not look there."""
    monkeypatch.setenv("PYTHONUSERBASE", str(tmp_path))
    monkeypatch.setattr(own_process.sys, "executable", sys._base_executable)
    packages = tmp_path / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    packages.mkdir(parents=True)
    return packages


def test_nothing_of_home_is_run(tmp_path, monkeypatch):
    packages = in_home(tmp_path, monkeypatch)
    (packages / "usercustomize.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    assert own_process.start("this", [], []).wait(60) == 0
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("package", ["windtunnel", "windtunnel_sharing"])
def test_what_is_installed_in_home_is_run_from_there(tmp_path, monkeypatch, package):
    packages = in_home(tmp_path, monkeypatch)
    (packages / "installed.py").write_text("")
    monkeypatch.setattr(own_process.site, "getusersitepackages", lambda: str(packages))
    monkeypatch.setattr(getattr(own_process, package), "__file__", str(packages / package / "__init__.py"))
    assert own_process.start("installed", [], []).wait(60) == 0
