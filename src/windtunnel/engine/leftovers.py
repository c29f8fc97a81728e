"""Removes what a killed engine leaves behind: its supervisor at once, and the next start whatever no process holds.

A name in a plan is not enough to remove something: the plan of a record may be somebody else's.
"""

import contextlib
import errno
import fcntl
import glob
import os
import re
import shutil
import socket
import stat
import struct
import time
from collections.abc import Callable
from pathlib import Path

from windtunnel import proc
from windtunnel.engine import own_directory, xdp
from windtunnel.engine.own_directory import runtime_directory
from windtunnel.engine.plan import Endpoint, Plan
from windtunnel.engine.telemetry import SOCKET
from windtunnel.engine.wires import of_port

OWN_PREFIX = re.compile(r"wt-(copies-)?[0-9a-f]{8}(-[a-z]+)?")
"""File prefixes and sockets that Windtunnel makes up for its engines."""
QUIET_S = 60.0
"""No start takes as long."""
FLOCK = "hhqqi"
"""struct flock (fcntl(2))."""


def remove(plan: Plan) -> None:
    """Removes EAL's runtime directory, the hugepage files, the socket and the XDP program of a plan whose engine this process has started,
    and which has ended. A scenario whose interface has an XDP program is refused, so one that is attached now is the engine's."""
    remove_files(plan.eal.file_prefix)
    for endpoint in plan.endpoints:
        _of_wire(endpoint)


def remove_files(prefix: str) -> None:
    """Removes EAL's runtime directory and hugepage files with this file prefix. Raises ValueError if it is none."""
    if not prefix or prefix.startswith(".") or "/" in prefix:
        raise ValueError(f"not a file prefix: {prefix!r}")
    shutil.rmtree(runtime_directory() / "dpdk" / prefix, ignore_errors=True)
    for mount in hugetlbfs_mounts():
        for file in glob.iglob(f"{glob.escape(prefix)}map_*", root_dir=mount):
            with contextlib.suppress(OSError):
                os.unlink(mount / file)


def of_the_dead() -> list[Path]:
    """Runtime directories and sockets of this user's engines that no process holds any more, since their supervisors were killed too."""
    directories = (runtime_directory() / "dpdk").glob("wt-*")
    sockets = socket_directory().glob("wt-*.sock")
    return [
        *(path for path in directories if _is_ours(path, path.name, stat.S_ISDIR) and not _is_held(path)),
        *(path for path in sockets if _is_ours(path, path.stem, stat.S_ISSOCK) and _is_dead(path)),
    ]


def remove_of_the_dead() -> None:
    for path in of_the_dead():
        if path.suffix == ".sock":
            path.unlink(missing_ok=True)
        else:
            remove_files(path.name)


def socket_directory() -> Path:
    """The directory of sockets that no scenario names: this user's own below /tmp if others could replace a socket in the usual one, as if
    `su` has kept XDG_RUNTIME_DIR. Raises UserError if that one is not ours alone."""
    named = Path(os.environ.get("XDG_RUNTIME_DIR") or own_directory.for_temporary()).absolute()
    if own_directory.is_own(named):
        return named
    own_directory.make(own := own_directory.in_tmp())
    return own


def _is_ours(path: Path, name: str, is_kind: Callable[[int], bool]) -> bool:
    """Whether an engine of this user made it, and not just now: an engine that has just started has neither lock nor socket yet."""
    with contextlib.suppress(OSError):
        status = path.lstat()
        old = time.time() - status.st_mtime > QUIET_S
        return bool(OWN_PREFIX.fullmatch(name)) and is_kind(status.st_mode) and status.st_uid == os.geteuid() and old
    return False


def _is_held(directory: Path) -> bool:
    """EAL has a lock on its configuration, unless memory is its own alone, and a socket for telemetry, if there is room for the path."""
    config, telemetry = directory / "config", directory / SOCKET
    try:
        with config.open("rb") as file:
            query = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            kind, *_ = struct.unpack(FLOCK, fcntl.fcntl(file, fcntl.F_GETLK, query))
            return bool(kind != fcntl.F_UNLCK)
    except FileNotFoundError:
        return os.path.lexists(telemetry) and not _is_dead(telemetry)
    except OSError:
        return True


def _of_wire(endpoint: Endpoint) -> None:
    """Removes what a wire's endpoint leaves: a server its socket, an engine the XDP program that it attached to an interface."""
    wire, options = of_port(endpoint.port), endpoint.port.options
    for option in wire.options:
        if option.type == "socket" and endpoint.side == "server" and option.name in options:
            _remove_socket(Path(options[option.name]))
    for need in wire.needs:
        if need.kind == "no_xdp" and need.option in options:
            xdp.remove_default_program(options[need.option])


def hugetlbfs_mounts(mounts: Path = Path("/proc/mounts")) -> list[Path]:
    """Mount points of hugetlbfs."""
    return [mount.path for mount in proc.mounts(mounts) if mount.kind == "hugetlbfs"]


def _remove_socket(path: Path) -> None:
    with contextlib.suppress(OSError):
        if stat.S_ISSOCK(path.lstat().st_mode) and _is_dead(path):
            path.unlink()


def _is_dead(path: Path) -> bool:
    """Whether nobody listens at a socket. Every other answer is a living one's: accepted, no place for another connection, another type
    of socket, not permitted."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
        probe.setblocking(False)
        return probe.connect_ex(os.fsencode(path)) == errno.ECONNREFUSED
