"""Places of announcements: one socket a process, in a directory that only its owner writes."""

import contextlib
import os
import socket
import stat
import struct
from pathlib import Path

from windtunnel.engine import own_directory
from windtunnel.errors import UserError

_CREDENTIALS = struct.Struct("3i")
"""pid, uid and gid, as SO_PEERCRED has them."""

NEW = ".new"
"""Ends the name of a socket at which nobody listens yet."""


def directory() -> Path:
    """Raises UserError if Windtunnel's runtime directory is not ours alone."""
    return own_directory.of_runtime() / "live"


def socket_path(pid: int) -> Path:
    """Raises UserError as `directory`."""
    return directory() / f"{pid}.sock"


def announced() -> list[Path]:
    """The sockets of this user's processes, dead ones among them; none if the directory is missing or is not ours alone."""
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
    """Whether this user's processes talk to that one's: their own, and root's."""
    return uid in (os.geteuid(), 0)


def remove_stale(path: Path) -> bool:
    """Removes a socket of this user that nobody listens on any more. Returns whether it was one. A file or a link that has the name stays."""
    try:
        found = path.lstat()
    except OSError:
        return False
    if (
        not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.geteuid()
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
