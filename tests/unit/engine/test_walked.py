"""Who else may put something else on a way: by the groups of a system that a test makes up."""

import grp
import os
import pwd
from pathlib import Path

import pytest

from windtunnel.engine import own_directory, walked

ME, OTHER, GROUP = os.geteuid(), 54_321, os.getegid()


@pytest.fixture
def group(tmp_path, monkeypatch):
    """Makes a directory that a group may write which has these members, and those whose first group it is."""
    users: dict[str, pwd.struct_passwd] = {}

    def made(members, first, mode=0o775) -> Path:
        uids = {"root": 0, "me": ME, "other": OTHER}
        for name, uid in uids.items():
            users[name] = pwd.struct_passwd((name, "x", uid, GROUP if name in first else GROUP + 1, "", "/", "/bin/sh"))
        if members is None:
            monkeypatch.setattr(grp, "getgrgid", lambda gid: {}[gid])
        else:
            monkeypatch.setattr(grp, "getgrgid", lambda gid: grp.struct_group(("its", "x", gid, members)))
        (tmp_path / "its").mkdir()
        (tmp_path / "its").chmod(mode)
        return tmp_path / "its"

    monkeypatch.setattr(pwd, "getpwall", lambda: list(users.values()))
    monkeypatch.setattr(pwd, "getpwnam", users.__getitem__)
    return made


@pytest.mark.parametrize(
    ("members", "first", "mode", "own"),
    [
        ([], [], 0o775, True),
        (["me"], ["me"], 0o2775, True),
        (["root", "nobody-of-this-system"], ["me"], 0o775, True),
        (["other"], ["me"], 0o775, False),
        ([], ["me", "other"], 0o775, False),
        (["other"], [], 0o1775, True),
        (["other"], [], 0o755, True),
        (None, [], 0o775, False),
        (["me"], [], 0o777, False),
    ],
)
def test_a_directory_that_a_group_may_write_is_others_unless_its_owner_is_alone_there(group, members, first, mode, own):
    directory = group(members, first, mode)
    assert walked.others_may_replace(directory.stat()) is not own
    for way in (directory, directory / "mine", directory / "none" / "mine"):
        assert own_directory.way_is_own(way) is own


def test_what_was_passed_is_told_although_the_end_is_not_there(tmp_path):
    (tmp_path / "to").mkdir()
    (tmp_path / "link").symlink_to("to")
    passed = []
    with pytest.raises(FileNotFoundError):
        walked.walk(tmp_path / "link" / "none" / "below", passed)
    below = [(tmp_path / name).lstat().st_ino for name in ("link", "to")]
    assert [found.st_ino for found in passed][-2:] == below
    for follow, last in ((False, "link"), (True, "to")):
        passed.clear()
        os.close(walked.walk(tmp_path / "link", passed, follow))
        assert passed[-1].st_ino == (tmp_path / last).lstat().st_ino
