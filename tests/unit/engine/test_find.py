"""Which engine is found, and what is said when there is none."""

from pathlib import Path

import pytest

from windtunnel.engine import find
from windtunnel.errors import UserError
from windtunnel.version import __version__


def program(path: Path, says: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def nothing_installed(tmp_path, monkeypatch):
    monkeypatch.delenv(find.VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(find, "CHECKOUT", tmp_path / "checkout")


def test_the_variable_comes_first_then_the_checkout_then_the_path(tmp_path, monkeypatch):
    installed = program(tmp_path / "path" / find.NAME)
    assert find.find_engine() == installed
    built = program(tmp_path / "checkout" / "build" / "engine" / find.NAME)
    assert find.find_engine() == built
    named = program(tmp_path / "named")
    monkeypatch.setenv(find.VARIABLE, str(named))
    assert find.find_engine() == named


def test_an_installed_engine_of_another_version_is_refused(tmp_path, monkeypatch):
    installed = program(tmp_path / "path" / find.NAME, "windtunnel-engine 0.0.9, DPDK 22.11.11, build 0123456789ab")
    with pytest.raises(UserError) as refused:
        find.find_engine()
    assert refused.value.message == f"{installed} is version 0.0.9, and this windtunnel is {__version__}"
    monkeypatch.setenv(find.VARIABLE, str(installed))  # who names it wants it
    assert find.find_engine() == installed


def test_an_installed_engine_of_this_version_or_of_none_is_found(tmp_path):
    installed = program(tmp_path / "path" / find.NAME, f"windtunnel-engine {__version__}, DPDK 22.11.11, build 0123")
    assert find.find_engine() == installed
    installed.write_text("not a program")
    assert find.find_engine() == installed


def test_a_relative_path_is_relative_to_the_current_directory(tmp_path, monkeypatch):
    named = program(tmp_path / "here" / "engine")
    monkeypatch.chdir(named.parent)
    monkeypatch.setenv(find.VARIABLE, "./engine")
    assert find.find_engine() == named


@pytest.mark.parametrize(("makes", "said"), [(None, "no such file"), (0o644, "not an executable file")])
def test_a_wrong_variable_is_an_error_even_when_there_is_another_engine(tmp_path, monkeypatch, makes, said):
    program(tmp_path / "path" / find.NAME)
    named = tmp_path / "named"
    if makes is not None:
        named.touch(makes)
    monkeypatch.setenv(find.VARIABLE, str(named))
    with pytest.raises(UserError) as refused:
        find.find_engine()
    assert str(named) in refused.value.message
    assert said in refused.value.message


def test_a_checkout_that_is_not_built_says_quickstart_and_a_package_where_to_get_an_engine(tmp_path):
    with pytest.raises(UserError) as refused:
        find.find_engine()
    assert find.VARIABLE in refused.value.remedy
    assert f"apt install ./windtunnel-engine_{__version__}_*.deb" in refused.value.remedy
    (tmp_path / "checkout" / "engine").mkdir(parents=True)
    (tmp_path / "checkout" / "meson.build").touch()
    with pytest.raises(UserError, match="not built") as refused:
        find.find_engine()
    assert refused.value.remedy == f"run {find.CHECKOUT}/windtunnel quickstart"


def test_the_checkout_is_the_one_that_contains_the_package():
    assert (Path(find.__file__).parents[3] / "pyproject.toml").is_file()


def test_a_file_beside_the_engine_that_others_may_have_put_there_is_refused(tmp_path, monkeypatch):
    """As in /tmp, if the engine was copied into a directory there."""
    engine, library = tmp_path / "copied/windtunnel-engine", tmp_path / "probes/lib.so"
    for file in (engine, library):
        file.parent.mkdir(mode=0o755)
        file.touch(0o755)
    monkeypatch.setenv(find.VARIABLE, str(engine))
    assert find.find_native("probes", "lib.so") == library
    library.parent.chmod(0o777)
    with pytest.raises(UserError, match="lib.so: other users than the engine's may have put it there"):
        find.find_native("probes", "lib.so")
    engine.parent.chmod(0o777)  # then they may put another engine there, which runs as the same user
    assert find.find_native("probes", "lib.so") == library
