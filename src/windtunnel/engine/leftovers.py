"""Removes what a killed engine leaves behind."""

import contextlib
import errno
import glob
import os
import shutil
import socket
import stat
from pathlib import Path

from windtunnel import proc
from windtunnel.engine import xdp
from windtunnel.engine.own_directory import runtime_directory
from windtunnel.engine.plan import Endpoint, Plan
from windtunnel.engine.wires import of_port


def remove(plan: Plan) -> None:
    """Removes EAL's runtime directory, the hugepage files, the socket and the XDP program of a plan whose engine has
    ended. A scenario is refused where an XDP program hung before, so that one that hangs now is the engine's."""
    remove_files(plan.eal.file_prefix)
    for endpoint in plan.endpoints:
        _of_wire(endpoint)


def remove_files(prefix: str) -> None:
    """EAL's runtime directory and hugepage files with this file prefix. Raises ValueError where it is none."""
    if not prefix or prefix.startswith(".") or "/" in prefix:
        raise ValueError(f"not a file prefix: {prefix!r}")
    shutil.rmtree(runtime_directory() / "dpdk" / prefix, ignore_errors=True)
    for mount in hugetlbfs_mounts():
        for file in glob.iglob(f"{glob.escape(prefix)}map_*", root_dir=mount):
            with contextlib.suppress(OSError):
                os.unlink(mount / file)


def _of_wire(endpoint: Endpoint) -> None:
    """A socket is its server's; who needs an interface without an XDP program hangs one on it."""
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
        if stat.S_ISSOCK(path.lstat().st_mode) and not _is_served(path):
            path.unlink()


def _is_served(path: Path) -> bool:
    """Whether a process listens: another server, for which the engine has refused the scenario. One that hangs has no
    place for another connection."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
        probe.setblocking(False)
        return probe.connect_ex(os.fsencode(path)) in (0, errno.EAGAIN)
