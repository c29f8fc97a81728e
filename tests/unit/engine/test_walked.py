"""Who else may put something else on a way: by the groups of a system that a test makes up."""

import errno
import grp
import os
import pwd
import subprocess
import sys
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
        assert own_directory.may_become_own(way) is own


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


@pytest.mark.parametrize("most", [4, 5, 100])
def test_a_file_is_read_without_waiting_for_who_writes_it(tmp_path, monkeypatch, most):
    (tmp_path / "file").write_text("12345")
    place = walked.walk(tmp_path / "file", [])
    looks = []

    def preadv(opened, buffers, offset, flags):
        assert flags == os.RWF_NOWAIT
        looks.append(offset)
        if len(looks) < 3:
            raise BlockingIOError(errno.EAGAIN, "not in memory")
        return preadv_of_os(opened, [buffers[0][:2]], offset)  # a page after the other

    preadv_of_os = os.preadv
    monkeypatch.setattr(os, "preadv", preadv)
    assert walked.read_beginning(place, most) == "12345"[:most]
    monkeypatch.setattr(walked, "MOST_LOOKS", 2)
    looks.clear()
    with pytest.raises(BlockingIOError):
        walked.read_beginning(place, most)
    assert looks == [0, 0]

    def of_no_such_file_system(*_):
        raise OSError(errno.EOPNOTSUPP, "always waits")

    monkeypatch.setattr(os, "preadv", of_no_such_file_system)
    assert walked.read_beginning(place, most) == "12345"[:most]
    os.close(place)


@pytest.mark.parametrize("link", ["cwd", "root", "self", "fd/DESCRIPTOR"])
def test_a_link_of_proc_leads_elsewhere_than_its_text_says(tmp_path, link):
    """A process may have another root, or a directory that is mounted elsewhere: its links lead there, and their texts do not say so."""
    opened = os.open(tmp_path, os.O_RDONLY)
    place = Path("/proc/self" if link == "self" else f"/proc/{os.getpid()}/{link.replace('DESCRIPTOR', str(opened))}")
    try:
        for way in (place, place / "below"):
            with pytest.raises(PermissionError, match="a link of /proc"):
                walked.walk(way, [], follow=True)
            assert not own_directory.is_own(way) and not own_directory.may_become_own(way)
        os.close(walked.walk(place, []))
    finally:
        os.close(opened)


FUSE = """
import ctypes, os, sys
from pathlib import Path
from windtunnel.engine import walked
from windtunnel.engine.walked import walk
directory, user = Path(sys.argv[1]), int(sys.argv[2])
opened = os.open("/dev/fuse", os.O_RDWR)  # nobody reads it: who asks waits for ever
options = f"fd={opened},rootmode=40000,user_id={user},group_id={user},allow_other"
done = ctypes.CDLL(None, use_errno=True).mount(b"user_id=0", bytes(directory), b"fuse.user_id=0", 0, options.encode())
assert done == 0, os.strerror(ctypes.get_errno())
passed = []
try:
    walk(directory / "pid", passed)
except OSError as error:
    print(len(passed), error.strerror)
"""
UNMOUNTED = """
number_of_mount = walked._number_of_mount

def _number_of_mount(there):
    number = number_of_mount(there)
    if os.readlink(f"/proc/self/fd/{there}") == str(directory):
        ctypes.CDLL(None).umount2(bytes(directory), 2)  # MNT_DETACH: its server still holds it
    return number

walked._number_of_mount = _number_of_mount
"""


@pytest.mark.slow
@pytest.mark.skipif(ME != 0 or not os.access("/dev/fuse", os.W_OK), reason="needs root and /dev/fuse")
@pytest.mark.parametrize(
    ("meanwhile", "why"),
    [
        ("", f"on a file system that a process of user {OTHER} serves"),
        (UNMOUNTED, "on a file system that was unmounted meanwhile"),
    ],
    ids=["mounted", "unmounted"],
)
def test_no_file_system_is_asked_that_another_user_serves(tmp_path, meanwhile, why):
    program = FUSE.replace("passed = []\n", f"{meanwhile}passed = []\n")
    begun = subprocess.run(
        ["unshare", "--mount", sys.executable, "-c", program, tmp_path, f"{OTHER}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert begun.stdout == f"{len(tmp_path.parts) - 1} {why}\n"
