"""A directory that is worked in is the one that was opened, whatever takes its name meanwhile."""

import os
import stat
from pathlib import Path

import pytest
from access_lists import assert_no_access_list, directory_with_access_list

from windtunnel.errors import UserError
from windtunnel.measure.study.directory import opened
from windtunnel.runs import directories
from windtunnel.runs.directories import held, make_held, making


@pytest.fixture
def victim(tmp_path) -> Path:
    """A directory that nobody named."""
    directory = tmp_path / "victim"
    directory.mkdir()
    (directory / "file").write_text("the victim's")
    return directory


def swapped(directory: Path, other: Path) -> None:
    directory.rename(directory.with_name("moved"))
    directory.symlink_to(other)


def test_a_link_that_takes_its_name_is_not_followed(tmp_path, victim):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "file").write_text("mine")
    with held(mine) as place:
        swapped(mine, victim)
        assert (place / "file").read_text() == "mine"


def test_errors_have_the_name_that_the_user_gave(tmp_path, victim):
    with pytest.raises(UserError, match=f"^{victim}/file: not {victim}, /proc/.*0$") as refused, held(victim) as place:
        raise UserError(f"{place}/file: not {place}, {place}0", remedy="yes")
    assert refused.value.remedy == "yes"
    with pytest.raises(FileNotFoundError) as missing, held(victim) as place:
        (place / "none").read_text()
    assert missing.value.filename == f"{victim}/none"


def test_a_link_is_a_directory_for_who_wants_it(tmp_path, victim):
    (tmp_path / "link").symlink_to(victim)
    with held(tmp_path / "link") as place:
        assert os.listdir(place) == ["file"]
    with pytest.raises(UserError, match="a link, which is not followed"), held(tmp_path / "link", follow=False):
        pass


def test_what_fails_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError), making(tmp_path / "new") as place:
        (place / "inner").mkdir()
        (place / "inner" / "file").write_text("")
        (place / "link").symlink_to(tmp_path)
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == []


def test_what_fails_removes_nothing_else(tmp_path, victim):
    with pytest.raises(ZeroDivisionError), making(tmp_path / "new") as place:
        (place / "file").write_text("")
        (tmp_path / "new").rename(tmp_path / "moved")
        victim.rename(tmp_path / "new")
        raise ZeroDivisionError
    assert os.listdir(tmp_path / "new") == ["file"] and os.listdir(tmp_path / "moved") == []


@pytest.mark.parametrize("other", ["a link", "a directory with files", "an empty one of another user"])
def test_what_took_its_name_before_it_was_opened_is_not_written(tmp_path, victim, monkeypatch, other):
    def made(path, mode):
        path.symlink_to(victim) if other == "a link" else victim.rename(path)

    if other == "an empty one of another user":
        (victim / "file").unlink()
        monkeypatch.setattr(directories.os, "geteuid", lambda: os.getuid() + 1)
    before = os.listdir(victim)
    monkeypatch.setattr(directories, "make_directory", made)
    words = "a link" if other == "a link" else "something else"
    with pytest.raises(UserError, match=words), making(tmp_path / "new"):
        pytest.fail("it was entered")
    assert os.listdir(tmp_path / "new") == before


@pytest.fixture
def with_access_list(tmp_path) -> Path:
    return directory_with_access_list(tmp_path)


@pytest.mark.parametrize("new", ["run", "runs/run", "a/b/run"])
def test_nothing_that_is_made_has_an_access_list(with_access_list, new):
    made = make_held(with_access_list / new)
    assert_no_access_list(made.place)
    for above in (with_access_list / new).parents[: new.count("/")]:
        assert_no_access_list(above)


def test_a_directory_above_that_was_made_with_an_access_list_hands_nothing_on(with_access_list):
    (with_access_list / "runs").mkdir()
    assert "system.posix_acl_default" in os.listxattr(with_access_list / "runs")
    made = make_held(with_access_list / "runs" / "run")
    assert_no_access_list(made.place)
    assert "system.posix_acl_default" in os.listxattr(with_access_list / "runs"), "it was there before"


def test_a_study_has_none(with_access_list):
    with opened(with_access_list / "studies" / "study"):
        pass
    for made in ("studies", "studies/study"):
        assert_no_access_list(with_access_list / made)


def test_nobody_else_writes_in_a_new_directory_and_a_group_may_in_those_above(tmp_path):
    """A group's directory (setgid) hands its group on to what is made in it."""
    before = os.umask(0o002)
    try:
        made = make_held(tmp_path / "runs" / "run")
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "runs", made.place)]
    assert modes == [0o775, 0o755]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives directories away")
def test_a_directory_that_another_user_put_in_the_place_of_a_new_one_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(
        directories, "make_directory", lambda directory, mode: (directory.mkdir(), os.chown(directory, 54321, -1))
    )
    with pytest.raises(UserError, match="another program has put something else there"):
        make_held(tmp_path / "new")
