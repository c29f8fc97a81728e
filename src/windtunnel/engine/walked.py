"""Walks to a file or directory whose way others may change meanwhile, and tells who they are."""

import contextlib
import errno
import grp
import os
import pwd
import stat
import time
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import NamedTuple

from windtunnel import proc

MOST_LINKS = 40
"""On the way, as of the kernel's (MAXSYMLINKS)."""
OTHERS = "other users may put something else there"
MOST_LOOKS, LOOK_S = 20, 0.002
"""At what is not in memory yet, and between two."""
_STEP = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


GoesOn = Callable[[list[os.stat_result]], bool]
"""Whether a walk goes on beyond what it has passed."""


class _Mount(NamedTuple):
    number: int
    kind: str
    """Type of its file system, as in proc."""


def walk(
    path: Path,
    passed: list[os.stat_result],
    follow: bool = False,
    goes_on: GoesOn = lambda passed: True,
) -> int:
    """A descriptor (O_PATH) of what is there; a link that is the last part is followed if `follow`. Adds to `passed` what was passed: directories,
    links on the way, and at last itself. Each step begins at what was passed before, so it is what was looked at, whatever is put in its
    place. `goes_on`: whether to look for the next part in the last of what was passed, whose owner may keep whoever looks there waiting, in the
    kernel. Raises OSError, with what was passed until then, and before it asks a file system that another user serves; PermissionError if it does
    not go on, and for a link of /proc: it leads to what a process has open, and not where its text says."""
    here, links = os.open("/", _STEP), 0
    passed.append(_status(here))
    root = mount = _Mount(_number_of_mount(here), "")
    left = list(reversed(path.absolute().parts[1:]))
    try:
        while left:
            if not goes_on(passed):
                raise PermissionError(errno.EPERM, OTHERS)
            there = os.open(left.pop(), _STEP, dir_fd=here)
            try:
                mount = _enter(there, mount, root)
                passed.append(_status(there))
                is_followed = bool(left or follow) and stat.S_ISLNK(passed[-1].st_mode)
                if is_followed and mount.kind == "proc":
                    raise PermissionError(errno.EPERM, "a link of /proc, which leads where a process decides")
                target = os.readlink("", dir_fd=there) if is_followed else None
            except OSError:
                os.close(there)
                raise
            if target is None:
                here, there = there, here
            os.close(there)
            if target is None:
                continue
            links += 1
            if links > MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
            left += reversed(PurePath(target).parts)  # "/" is one of them, and begins anew
    except OSError:
        os.close(here)
        raise
    return here


def _number_of_mount(there: int) -> int:
    """Of the mount that a descriptor is on, for which no file system is asked. Raises PermissionError if the kernel does not say it."""
    if number := proc.value(proc.text(f"/proc/self/fdinfo/{there}"), "mnt_id"):
        return int(number)
    raise PermissionError(errno.EPERM, "the kernel does not say on which mount it is")


def _enter(there: int, mount: _Mount, root: _Mount) -> _Mount:
    """The mount of a descriptor that was opened from another one on `mount`. Raises PermissionError for one of FUSE that another user than root
    serves: whatever it is asked, it may never answer, and who asks waits in the kernel. So it does for one that was unmounted meanwhile, which
    nothing tells about. That of `root` is not in the list of a changed root. Source: fuse_show_options of Linux."""
    entered = _number_of_mount(there)
    for known in (mount, root):
        if entered == known.number:
            return known
    for line in proc.lines(proc.text("/proc/self/mountinfo")):
        if int(line.partition(" ")[0]) != entered:
            continue
        kind, _source, options = line.partition(" - ")[2].split(" ", 2)
        server = next((int(option[8:]) for option in options.split(",") if option.startswith("user_id=")), 0)
        if kind.startswith("fuse") and server not in (0, os.geteuid()):
            raise PermissionError(errno.EPERM, f"on a file system that a process of user {server} serves")
        return _Mount(entered, kind)
    raise PermissionError(errno.EPERM, "on a file system that was unmounted meanwhile")


def _status(there: int) -> os.stat_result:
    """Of what a descriptor is of. With an access list (acl(5)) the group's bits are the most that the list gives anybody: others have them."""
    status = os.fstat(there)
    if not status.st_mode & stat.S_IWGRP or not _has_access_list(there):
        return status
    mode, *others = status
    return os.stat_result((mode | stat.S_IWOTH, *others))


def _has_access_list(there: int) -> bool:
    try:
        return bool(os.getxattr(f"/proc/self/fd/{there}", "system.posix_acl_access"))
    except OSError:
        return False


def others_may_replace(status: os.stat_result) -> bool:
    """Whether others than its owner, and root, may put something else in the place of what is in a directory: they may write it, and it is not
    like /tmp, in which each may replace what is theirs."""
    return stat.S_ISDIR(status.st_mode) and not status.st_mode & stat.S_ISVTX and others_may_write(status)


def others_may_write(status: os.stat_result) -> bool:
    """Whether others than its owner, and root, may write into it, by its mode and its group."""
    writes = status.st_mode & stat.S_IWGRP and not _is_alone_in(status.st_gid, status.st_uid)
    return bool(status.st_mode & stat.S_IWOTH or writes)


def _is_alone_in(group: int, user: int) -> bool:
    """Whether nobody else is in that group but root: many a system makes each user one. A group without a name may have any members."""
    try:
        names = grp.getgrgid(group).gr_mem
    except KeyError:
        return False
    members = [entry.pw_uid for entry in pwd.getpwall() if entry.pw_gid == group]
    for name in names:
        with contextlib.suppress(KeyError):  # whom the system does not know may not write
            members.append(pwd.getpwnam(name).pw_uid)
    return set(members) <= {0, user}


def read_beginning(walked: int, most_bytes: int) -> str:
    """Of a regular file that was walked to. Raises OSError for anything else, and BlockingIOError while its owner has a lease on it, or writes
    it, which the kernel would wait for."""
    if not stat.S_ISREG(os.fstat(walked).st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    opened = os.open(f"/proc/self/fd/{walked}", os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return _read_from_memory(opened, most_bytes).decode(errors="replace")
    finally:
        os.close(opened)


def _read_from_memory(opened: int, most_bytes: int) -> bytes:
    """What of a file is in memory; the rest is read ahead meanwhile. Who writes a file of XFS keeps everybody waiting who reads it, in the kernel."""
    buffer, length, looks = bytearray(most_bytes), 0, MOST_LOOKS
    while length < most_bytes:
        try:
            count = os.preadv(opened, [memoryview(buffer)[length:]], length, os.RWF_NOWAIT)
        except BlockingIOError:
            if not (looks := looks - 1):
                raise
            time.sleep(LOOK_S)
            continue
        except OSError as error:
            if error.errno != errno.EOPNOTSUPP:
                raise
            return os.read(opened, most_bytes)  # of a file system that always waits
        if not count:
            break
        length += count
    return bytes(buffer[:length])
