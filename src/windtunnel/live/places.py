"""Paths of announcements: one socket a process, in a directory that only its owner can write."""

import contextlib
import os
import socket
import stat
import struct
from pathlib import Path

from windtunnel.engine import own_directory
from windtunnel.errors import UserError

_CREDENTIALS = struct.Struct("3i")
"""pid, uid and gid, in the layout of SO_PEERCRED."""

NEW = ".new"
"""Suffix of a socket on which no process listens yet."""


def directory() -> Path:
    """The directory of the sockets. Raises UserError if another user can write Windtunnel's runtime directory."""
    return own_directory.of_runtime() / "live"


def socket_path(pid: int) -> Path:
    """The socket of a process. Raises UserError as `directory`."""
    return directory() / f"{pid}.sock"


def announced() -> list[Path]:
    """The sockets of this user's processes, including stale ones; none if the directory is missing or another user can write it."""
    with contextlib.suppress(UserError, OSError):
        where = directory()
        with own_directory.opened(where) as descriptor:
            return sorted(where / name for name in os.listdir(descriptor) if name.endswith(".sock"))
    return []


def peer(connected: socket.socket) -> tuple[int, int]:
    """pid and uid of the process at the other end of a Unix socket, as the kernel knows them."""
    pid, uid, _ = _CREDENTIALS.unpack(connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return pid, uid


def may_meet(uid: int) -> bool:
    """Whether this user's processes accept a peer of that user: only their own user and root."""
    return uid in (os.geteuid(), 0)


def remove_stale(path: Path) -> bool:
    """Removes a socket of this user on which no process listens. Returns whether it was removed. A file or a link of that name stays."""
    try:
        status = path.lstat()
    except OSError:
        return False
    if (
        not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.geteuid()
    ):  # connect(2) refuses what is no socket, as it does a dead one
        return False
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(os.fspath(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return True
        except OSError:
            return False
    return False


def remove_all_stale() -> None:
    """Removes the announcements of all processes of this user that were killed."""
    for path in announced():
        remove_stale(path)
    with contextlib.suppress(UserError, OSError):
        for path in directory().glob(f"*{NEW}"):
            if not Path("/proc", path.stem).exists():
                path.unlink(missing_ok=True)
