"""What is kept between runs is this user's: nobody else's HOME, nobody else's file, and no link leads away."""

import os
import pwd
from pathlib import Path

import pytest

from windtunnel.engine import home
from windtunnel.errors import UserError

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
OTHER = 54321
MOST = 1 << 10


@pytest.fixture
def own(tmp_path, monkeypatch) -> Path:
    """The home that the system has for this user; the environment names none."""
    directory = tmp_path / "own"
    directory.mkdir()
    entry = pwd.struct_passwd(("me", "x", os.geteuid(), 0, "", str(directory), "/bin/sh"))
    monkeypatch.setattr(home.pwd, "getpwuid", lambda uid: entry)
    for variable in ("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return directory


def test_the_environment_names_the_place(own, tmp_path, monkeypatch):
    assert home.state_directory() == own / ".local" / "state" / "windtunnel"
    assert home.cache_directory() == own / ".cache" / "windtunnel"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home.cache_directory() == tmp_path / ".cache" / "windtunnel"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert home.cache_directory() == tmp_path / ".cache" / "windtunnel"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert home.cache_directory() == tmp_path / "cache" / "windtunnel"


@needs_root
@pytest.mark.parametrize("variable", ["HOME", "XDG_STATE_HOME"])
def test_root_does_not_write_into_the_home_of_another_user(own, tmp_path, monkeypatch, variable):
    """As with sudo, which may keep both."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, OTHER, -1)
    monkeypatch.setenv(variable, str(theirs))
    home.keep(home.state_directory() / "file", b"1")
    assert not list(theirs.iterdir()) and home.read(own / ".local" / "state" / "windtunnel" / "file", MOST) == b"1"


@needs_root
def test_no_link_of_another_user_leads_root_away(tmp_path):
    theirs, victim = tmp_path / "theirs", tmp_path / "etc"
    theirs.mkdir()
    victim.mkdir()
    os.chown(theirs, OTHER, -1)
    (theirs / "windtunnel").symlink_to(victim)
    with pytest.raises(UserError, match="other users may put something else there|link"):
        home.keep(theirs / "windtunnel" / "file", b"1")
    with pytest.raises(UserError, match="other users may put something else there"):
        home.keep(theirs / "new" / "file", b"1")
    assert not list(victim.iterdir()) and [path.name for path in theirs.iterdir()] == ["windtunnel"]


def test_a_place_that_all_may_write_is_not_taken(own, tmp_path, monkeypatch):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "open"))
    assert home.cache_directory() == own / ".cache" / "windtunnel"
    (tmp_path / "open").chmod(0o1777)  # as /tmp is, which keeps what is ours
    assert home.cache_directory() == tmp_path / "open" / "windtunnel"


def test_what_a_careless_umask_made_is_closed(tmp_path):
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(0o775)
    (tmp_path / "state" / "file").write_bytes(b"1")
    assert home.read(tmp_path / "state" / "file", MOST) == b"1"
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o755
    home.keep(tmp_path / "state" / "file", b"2")
    assert (tmp_path / "state" / "file").stat().st_mode & 0o777 == 0o600
    assert home.read(tmp_path / "state" / "file", MOST) == b"2" and len(list((tmp_path / "state").iterdir())) == 1


@needs_root
def test_in_a_directory_of_another_user_nothing_is_changed(tmp_path):
    """What has the name of ours there may be led elsewhere by them."""
    (tmp_path / "theirs" / "ours").mkdir(parents=True)
    (tmp_path / "theirs" / "ours").chmod(0o775)
    os.chown(tmp_path / "theirs", OTHER, -1)
    with pytest.raises(UserError, match="other users may put something else there"):
        home.make(tmp_path / "theirs" / "ours")
    assert (tmp_path / "theirs" / "ours").stat().st_mode & 0o777 == 0o775


@needs_root
def test_a_file_of_another_user_is_not_read(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"1")
    assert home.is_own(file)
    os.chown(file, OTHER, -1)
    assert not home.is_own(file)
    with pytest.raises(UserError, match=f"of user {OTHER}"):
        home.read(file, MOST)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_directory_of_another_user_is_not_asked_for_by_name(tmp_path, monkeypatch):
    """It may be on a file system of theirs, which never responds."""
    (tmp_path / "theirs" / "ours").mkdir(parents=True)
    os.chown(tmp_path / "theirs", OTHER, -1)
    monkeypatch.setattr(Path, "stat", lambda *_, **__: pytest.fail("it was asked for by name"))
    with pytest.raises(UserError, match="other users may put something else there"):
        home.read(tmp_path / "theirs" / "ours" / "file", 10)


def test_what_is_not_there_is_not_made_by_reading(tmp_path):
    with pytest.raises(FileNotFoundError):
        home.read(tmp_path / "none" / "file", MOST)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["link", "fifo", "directory"])
def test_what_is_no_file_is_not_ours(tmp_path, kind):
    path = tmp_path / "path"
    if kind == "link":
        (tmp_path / "file").write_text("")
        path.symlink_to(tmp_path / "file")
    else:
        os.mkfifo(path) if kind == "fifo" else path.mkdir()
    assert not home.is_own(path)
    with pytest.raises((UserError, IsADirectoryError), match="a link|not a file|Is a directory"):
        home.read(path, MOST)
