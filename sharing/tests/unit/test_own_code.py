"""A daemon of root's runs code that only root may change, or says whose it is and does not start."""

import os
import shutil
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import in_process
import pytest
from study_tools import refused

import windtunnel
from windtunnel.errors import UserError
from windtunnel_sharing import own_code
from windtunnel_sharing.daemon import serve

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root's daemon asks, and only root gives files away")
ANOTHER = 54321


@pytest.fixture
def installed(tmp_path) -> Path:
    """A file in two directories of root's, below those of pytest's, which are root's as well."""
    file = tmp_path / "opt" / "package" / "module.py"
    file.parent.mkdir(parents=True)
    file.write_text("")
    return file


def opened_up(installed: Path, how: str) -> Path:
    """The path that is then named."""
    directory = installed.parents[1]
    if how == "file of another user":
        os.chown(installed, ANOTHER, -1)
        return installed
    if how == "directory of another user":
        os.chown(directory, ANOTHER, -1)
    elif how == "group may write":
        directory.chmod(0o775)
    elif how == "all may write":
        directory.chmod(0o757)
    elif how == "file that a group may write":
        installed.chmod(0o664)
        return installed
    else:
        other = directory.parent / "elsewhere"
        installed.parent.rename(other)
        (installed.parent).symlink_to(other)
        other.chmod(0o777)
        return other
    return directory


@needs_root
@pytest.mark.parametrize(
    "how",
    [
        "file of another user",
        "directory of another user",
        "group may write",
        "all may write",
        "file that a group may write",
        "link",
    ],
)
def test_what_others_may_change_is_named(installed, how):
    assert own_code.open_to_others(installed) is None
    place = opened_up(installed, how)
    said = own_code.open_to_others(installed)
    assert said == f"{place} is of user {place.stat().st_uid}, mode {place.stat().st_mode & 0o7777:04o}"


@needs_root
def test_a_directory_like_tmp_is_nobodys_way_in(installed):
    installed.parents[1].chmod(0o1777)
    assert own_code.open_to_others(installed) is None
    os.chown(installed.parent, ANOTHER, -1)
    assert str(installed.parent) in (own_code.open_to_others(installed) or "")


@needs_root
def test_where_others_may_add_something_nothing_is_imported(installed):
    """An entry of sys.path like /tmp, or one below it that is not there yet."""
    like_tmp = installed.parents[1]
    assert own_code.open_to_others(like_tmp / "none", like_tmp / "none" / "inner") is None
    like_tmp.chmod(0o1777)
    for entry in (like_tmp, like_tmp / "none", like_tmp / "none" / "inner"):
        assert own_code.open_to_others(entry) == f"{like_tmp} is of user 0, mode 1777", entry
    for number, target in enumerate((like_tmp, like_tmp / "none")):
        link = installed.parents[2] / str(number)
        link.symlink_to(target)
        assert own_code.open_to_others(link) == f"{like_tmp} is of user 0, mode 1777", target


@needs_root
def test_a_link_of_another_user_is_named(installed):
    link = installed.with_name("link")
    link.symlink_to(installed)
    assert own_code.open_to_others(link) is None
    os.chown(link, ANOTHER, -1, follow_symlinks=False)
    assert str(link) in (own_code.open_to_others(link) or "")


def test_all_that_runs_is_looked_at(monkeypatch, tmp_path):
    monkeypatch.setattr(own_code, "find_engine", lambda: tmp_path / "engine")
    monkeypatch.setattr(own_code, "find_native", lambda name: tmp_path / name)
    monkeypatch.setattr(sys, "path", ["", "relative", str(Path(os.__file__).parent)])
    monkeypatch.setenv("PATH", f"/of/programs{os.pathsep}below")
    monkeypatch.chdir(tmp_path)
    found = set(own_code.places())
    assert {tmp_path, tmp_path / "relative", tmp_path / "engine", tmp_path / "windtunnel-slicer"} <= found
    assert {Path("/of/programs"), tmp_path / "below"} <= found
    assert own_code.loaded() <= found and any("libc" in file.name for file in own_code.loaded())
    assert {
        Path(own_code.__file__).parent,
        Path(windtunnel.__file__).parent,
        Path(sys.executable),
        Path(sys.prefix),
        Path(os.__file__).parent,
    } <= found


@needs_root
def test_an_engine_and_a_slicer_that_somebody_may_make_later_are_looked_at(monkeypatch, installed):
    """They go before those on PATH, and each start of a slicer looks again."""
    engine = installed.parent / "build/engine/windtunnel-engine"
    monkeypatch.setenv("WINDTUNNEL_ENGINE", str(engine))
    slicers = {engine.parent / "windtunnel-slicer", engine.parents[1] / "sharing/slicers/windtunnel-slicer"}
    assert {engine, *slicers} <= set(own_code.places())
    assert str(installed.parent) not in (own_code.open_to_others(*own_code.places()) or "")
    os.chown(installed.parent, ANOTHER, -1)
    assert f"{installed.parent} is of user {ANOTHER}" in (own_code.open_to_others(*own_code.places()) or "")


@pytest.mark.parametrize("variable", ["LD_PRELOAD", "LD_AUDIT"])
def test_what_the_loader_is_told_to_load_is_looked_at_before_it_is_there(monkeypatch, variable):
    monkeypatch.setenv(variable, "/of/one/first.so:/of/two/second.so libnamed.so")
    found = set(own_code.places())
    assert {Path("/of/one/first.so"), Path("/of/two/second.so")} <= found
    assert Path("libnamed.so").absolute() not in found, "that is looked for where libraries are"


@pytest.mark.parametrize("variable", ["OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES", "GCONV_PATH"])
def test_what_a_library_is_told_to_load_is_looked_at(monkeypatch, variable):
    monkeypatch.setenv(variable, "/of/another")
    assert Path("/of/another") in set(own_code.places())


def test_what_is_imported_from_elsewhere_than_the_path_is_looked_at(monkeypatch, tmp_path):
    """By a finder as setuptools writes one for an editable install, also before the package is imported."""
    source = tmp_path / "__editable___other_finder.py"
    source.write_text(
        f"MAPPING = {{'other': '{tmp_path}/mine/other'}}\nNAMESPACES = {{'space': ['{tmp_path}/mine/space']}}\n"
        "class Finder:\n    @classmethod\n    def find_spec(cls, name, path=None, target=None): return None\n"
    )
    spec = spec_from_file_location(source.stem, source)
    finder = module_from_spec(spec)
    spec.loader.exec_module(finder)
    monkeypatch.setitem(sys.modules, source.stem, finder)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, finder.Finder])
    assert {source, tmp_path / "mine/other", tmp_path / "mine/space"} <= set(own_code.places())


@needs_root
def test_a_file_of_a_package_that_a_finder_knows_is_looked_at(monkeypatch, tmp_path):
    package = tmp_path / "other"
    package.mkdir()
    (package / "module.py").write_text("")
    monkeypatch.setattr(own_code, "imported_from_elsewhere", lambda: iter([package]))
    assert (package / "module.py") not in set(own_code.places())
    os.chown(package / "module.py", ANOTHER, -1)
    assert (package / "module.py") in set(own_code.places())


@needs_root
def test_what_a_start_of_python_would_import_is_looked_at(monkeypatch, tmp_path):
    for name in ("package", "data", "none.txt", "module.py", "native.so"):
        (tmp_path / name).mkdir() if "." not in name else (tmp_path / name).write_text("")
    (tmp_path / "more.pth").write_text("# a comment\nimport something\n/elsewhere\ninner\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "gone")])
    monkeypatch.setattr(sys, "pycache_prefix", "/of/compiled")
    monkeypatch.setattr(own_code.site, "ENABLE_USER_SITE", True)
    monkeypatch.setattr(own_code.site, "getusersitepackages", lambda: "/of/the/user")
    found = set(own_code.places())
    names = ("package", "module.py", "native.so", "more.pth", "inner", "gone")
    assert {
        Path("/of/the/user"),
        Path("/elsewhere"),
        Path("/of/compiled"),
        *(tmp_path / name for name in names),
    } <= found
    assert tmp_path / "none.txt" not in found and Path(sys.prefix, "pyvenv.cfg") in found
    monkeypatch.setattr(own_code.site, "ENABLE_USER_SITE", False)
    assert Path("/of/the/user") not in set(own_code.places())


@pytest.fixture
def with_library(installed, monkeypatch) -> tuple[Path, Path]:
    """A program, and a library that the loader finds for it in a directory that LD_LIBRARY_PATH names."""
    program = shutil.copy(shutil.which("true", path=own_code.SYSTEM_PATH), installed.with_name("program"))
    library = next(file for file in own_code.libraries(Path(program)) if file.name.startswith("libc."))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(installed.parent))
    monkeypatch.setattr(own_code, "find_native", lambda name: Path(program))
    return Path(program), Path(shutil.copy(library, installed.parent))


@needs_root
def test_a_library_that_a_program_loads_is_looked_at(with_library):
    program, library = with_library
    assert library in own_code.libraries(program)
    assert {library, library.parent} <= set(own_code.places())
    os.chown(library, ANOTHER, -1)
    assert own_code.open_to_others(*own_code.places()) == f"{library} is of user {ANOTHER}, mode 0755"


@needs_root
def test_the_loader_is_asked_of_no_program_that_another_user_may_change(with_library):
    program, _ = with_library
    os.chown(program, ANOTHER, -1)
    assert own_code.libraries(program) == []
    assert f"{program} is of user {ANOTHER}" in (own_code.open_to_others(*own_code.places()) or "")


@needs_root
def test_a_program_that_loads_nothing_is_not_run(installed):
    ran = installed.with_name("ran")
    installed.write_text(f"#!/bin/sh\ntouch {ran}\n")
    installed.chmod(0o755)
    assert own_code.libraries(installed) == [] and not ran.exists()


@needs_root
def test_deep_in_a_package_that_is_imported_whatever_is_not_roots_is_named_and_nothing_else(monkeypatch, tmp_path):
    deep = tmp_path / "package/inner/deeper"
    deep.mkdir(parents=True)
    files = [deep / f"module{number}.py" for number in range(3)]
    for file in files:
        file.write_text("")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(own_code.windtunnel, "__file__", str(tmp_path / "package/__init__.py"))
    assert not {*files, deep} & set(own_code.places()) and own_code.open_to_others(*own_code.places()) is None
    files[1].chmod(0o666)
    assert own_code.open_to_others(*own_code.places()) == f"{files[1]} is of user 0, mode 0666"
    files[1].chmod(0o644)
    os.chown(deep, ANOTHER, -1)
    assert str(deep) in (own_code.open_to_others(*own_code.places()) or "")
    os.chown(deep, 0, -1)
    files[2].unlink()
    files[2].symlink_to(tmp_path.parent / "theirs")
    assert files[2] in set(own_code.places()), "what it leads to is looked at"


@needs_root
def test_a_package_that_a_link_leads_to_is_looked_at_whole(monkeypatch, tmp_path):
    imported, elsewhere = tmp_path / "imported", tmp_path / "elsewhere"
    (elsewhere / "inner").mkdir(parents=True)
    imported.mkdir()
    (imported / "package").symlink_to(elsewhere)
    module = elsewhere / "inner/module.py"
    module.write_text("")
    monkeypatch.setattr(sys, "path", [str(imported)])
    monkeypatch.setattr(own_code.windtunnel, "__file__", str(imported / "__init__.py"))
    assert own_code.open_to_others(*own_code.places()) is None
    module.chmod(0o666)
    assert f"{module.name} is of user 0, mode 0666" in (own_code.open_to_others(*own_code.places()) or "")


@pytest.mark.parametrize("find", ["#!/bin/sh\necho 'find: no' >&2\nexit 1\n", None])
def test_code_that_cannot_be_looked_at_is_no_code_of_roots(monkeypatch, tmp_path, find):
    if find:
        (tmp_path / "find").write_text(find)
        (tmp_path / "find").chmod(0o755)
    monkeypatch.setattr(own_code.shutil, "which", lambda name, path: str(tmp_path / name))
    with pytest.raises(UserError, match=r"find: (no|No such file or directory)"):
        list(own_code.places())


def test_only_the_systems_own_find_is_run(monkeypatch, tmp_path):
    """PATH may begin with a directory of another user: `su` without a dash keeps it."""
    (tmp_path / "find").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (tmp_path / "find").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert list(own_code.places()) and not (tmp_path / "ran").exists()


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    """Root, whose package is another user's."""
    monkeypatch.setattr(own_code.os, "geteuid", lambda: 0)
    monkeypatch.setattr(own_code, "places", lambda: [tmp_path])
    monkeypatch.setattr(serve, "Daemon", None)  # none starts by mistake
    monkeypatch.setattr(own_code, "open_to_others", lambda *paths: f"{paths[0]} is of user 7, mode 0755")
    (tmp_path / "share.toml").write_text("")
    return tmp_path


def test_a_daemon_of_roots_does_not_start_with_code_of_others(elsewhere):
    error = refused("share", "serve", elsewhere / "share.toml")
    assert f"{elsewhere} is of user 7, mode 0755" in error.message and "--from-anywhere" in error.remedy


def test_who_trusts_them_says_so_and_the_daemon_says_it_too(elsewhere, monkeypatch):
    published = []

    class Started:
        sharing = core = None

        def __init__(self, *given):
            self.sharing = self
            self.events = self

        def publish(self, what, **facts):
            published.append((what, facts))

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def run(self):
            pass

    monkeypatch.setattr(serve, "Daemon", Started)
    done = in_process.run("share", "serve", elsewhere / "share.toml", "--from-anywhere")
    assert "is of user 7, mode 0755" in done.output, done.exception
    assert [what for what, _ in published] == ["code of others"] and "of user 7" in published[0][1]["why"]


def test_without_root_nobody_is_asked(elsewhere, monkeypatch):
    monkeypatch.setattr(own_code.os, "geteuid", lambda: 1000)
    own_code.check()
