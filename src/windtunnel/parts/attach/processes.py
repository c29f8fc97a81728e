"""DPDK applications that run on this host, from /proc: what they are, and how one can attach to them."""

import os
import re
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from windtunnel import proc
from windtunnel.errors import UserError
from windtunnel.parts.attach.page import NAME

LIBRARY = re.compile(r"/librte_ethdev\.so\.(\d+)(?:\.\d+)*$")
RELEASES = {23: "22.11", 24: "23.11", 25: "24.11", 26: "25.11"}
"""Major version of DPDK's ABI -> the LTS release that has it (doc/guides/contributing/abi_versioning.rst); it holds for a year."""
SLEEPERS = ("telemetry-v2", "dpdk-telemet", "rte_mp_handle", "dpdk-mp-msg", "eal-intr-thread", "dpdk-intr")
"""Beginnings of the names of DPDK's control threads, which sleep in a system call (lib/eal, lib/telemetry)."""
LCORE = re.compile(r"^(?:lcore-(?:worker|slave)-|rte-worker-|dpdk-worker|pmd-c)\d+")
"""Names of EAL's worker threads in its releases, and of those that OVS makes itself."""
MOST_EXECUTABLE_BYTES, PIECE_BYTES = 1 << 30, 1 << 20
"""A larger executable is not searched; it is read in pieces."""
PATIENCE_S = 3.0
"""For which a process is waited for: a large executable is read from the disk."""
MOST_COMMAND = 1 << 16
"""Characters of a command line that are taken: a record has them."""
MOST_NAME = 48
"""Characters of a program's name that are taken: directories have it in their names."""
DATA_PATH = b"rte_eth_fp_ops"
"""The symbol that the data path of every application calls through, and that the probe needs."""


@dataclass(frozen=True)
class Application:
    """A process with DPDK in it."""

    pid: int
    command: tuple[str, ...]
    release: str | None
    """Of DPDK: "22.11" and the releases with its ABI; None: not known, it is linked in."""
    prefix: str | None
    """EAL's file prefix; None: it has no runtime directory."""
    runtime: Path | None
    """EAL's runtime directory."""
    lcores: dict[int, str] = field(default_factory=dict)
    """Thread -> name of each worker; the main lcore has the application's own name, and may work too."""
    has_probe: bool = False
    obstacle: str | None = None
    """Why nobody can attach to it while it runs, as a sentence; None: nothing is in the way."""

    @property
    def name(self) -> str:
        return Path(self.command[0]).name[:MOST_NAME] or f"process {self.pid}"


def applications(root: Path = Path("/proc")) -> Iterator[Application]:
    """Each process with DPDK that this user may read, in the order of their numbers. If one keeps itself from being read, those of its user
    that follow are left out: nobody waits for each of thousands."""
    silent: set[int] = set()
    for pid in sorted(int(entry) for entry in os.listdir(root) if entry.isdigit()):
        try:
            user = os.stat(root / str(pid)).st_uid
            application = None if user in silent else application_of(pid, root)
        except FileNotFoundError:
            continue
        except UserError:
            silent.add(user)
            continue
        if application is not None:
            yield application


def application_of(pid: int, root: Path = Path("/proc")) -> Application | None:
    """The process as a DPDK application; None if it is none, has ended, or may not be read. Raises UserError if it does not let itself be read:
    the kernel reads a command line behind the lock of the process's memory, which its user can hold. The thread that waits for it ends with
    this process."""
    read: list[Application | None] = []
    reader = threading.Thread(target=lambda: read.append(_application_of(pid, root)), name="wt-read", daemon=True)
    reader.start()
    reader.join(PATIENCE_S)
    if reader.is_alive():
        raise UserError(f"process {pid}: it keeps its memory from being read", remedy="end it, or name another one")
    return read[0]


def _application_of(pid: int, root: Path) -> Application | None:
    try:
        maps = proc.lines(proc.text(root / f"{pid}/maps"))
        command = tuple(_as_text(proc.text(root / f"{pid}/cmdline")[:MOST_COMMAND].removesuffix("\0")).split("\0"))
        threads = {int(task): _name(root, pid, task) for task in os.listdir(root / f"{pid}/task")}
    except OSError:
        return None
    files = list(dict.fromkeys(line.split(maxsplit=5)[5] for line in maps if len(line.split(maxsplit=5)) > 5))
    libraries = [match for file in files if (match := LIBRARY.search(file))]
    if not libraries and not _exports_data_path(root / f"{pid}/exe", threads.values()):
        return None
    runtime = _runtime_directory(root, pid)
    return Application(
        pid=pid,
        command=command,
        release=RELEASES.get(int(libraries[0][1]), f"with ABI {libraries[0][1]}") if libraries else None,
        prefix=_as_text(runtime.name) if runtime else None,
        runtime=runtime,
        lcores={thread: name for thread, name in threads.items() if LCORE.match(name)},
        has_probe=any(f"lib{NAME}" in file for file in files),
        obstacle=None if any(name.startswith(SLEEPERS) for name in threads.values()) else _NO_SLEEPER,
    )


_NO_SLEEPER = "It has no control thread of DPDK that sleeps in a system call: it was started with --no-telemetry and without other processes"


def _name(root: Path, pid: int, task: str) -> str:
    return proc.text(root / f"{pid}/task/{task}/comm").removesuffix("\n")


def _exports_data_path(executable: Path, threads: Iterable[str]) -> bool:
    """Whether an executable with DPDK linked in exports its data path. Only processes with DPDK's threads are asked: a file is read whole."""
    if not any(name.startswith(SLEEPERS) for name in threads):
        return False
    try:
        with executable.open("rb", buffering=0) as file:
            if os.fstat(file.fileno()).st_size > MOST_EXECUTABLE_BYTES:
                return False
            before = b""
            while piece := file.read(PIECE_BYTES):
                if DATA_PATH in before + piece:
                    return True
                before = piece[1 - len(DATA_PATH) :]
    except OSError:
        return False
    return False


def _as_text(raw: str) -> str:
    """What can be written into a record: bytes that are no UTF-8 are replaced."""
    return os.fsencode(raw).decode(errors="replace")


def _runtime_directory(root: Path, pid: int) -> Path | None:
    """EAL's runtime directory: that of its files which the process has open or bound."""
    with_config = (link for link in _links(root / f"{pid}/fd") if "/dpdk/" in link)
    for link in with_config:
        return Path(link.removesuffix(" (deleted)")).parent
    return None


def _links(directory: Path) -> Iterator[str]:
    try:
        for entry in os.scandir(directory):
            try:
                yield os.readlink(entry.path)
            except OSError:
                continue
    except OSError:
        return


def user_of(pid: int) -> int | None:
    """The real user of a process, whatever program with the set-user-ID bit it runs; None: it has ended."""
    try:
        real, *_ = (proc.value(proc.text(f"/proc/{pid}/status"), "Uid") or "").split()
    except (OSError, ValueError):
        return None
    return int(real)


def choose(target: str) -> Application:
    """The application of this PID, file prefix, or name of its program. Raises UserError if there is none, or more than one."""
    if target.isdecimal():
        application = application_of(int(target))
        if application is None:
            raise UserError(f"process {target}: {_why_none(int(target))}", remedy="windtunnel attach --list")
        return application
    there = list(applications())
    named = [app for app in there if target in (app.prefix, app.name, app.name.removeprefix("dpdk-"))]
    if len(named) == 1:
        return named[0]
    if named:
        pids = ", ".join(str(app.pid) for app in named)
        raise UserError(f"{target}: {len(named)} applications have this name: {pids}", remedy="give the PID of one")
    raise UserError(
        f"{target}: no DPDK application that runs here has this name or prefix", remedy="windtunnel attach --list"
    )


def _why_none(pid: int) -> str:
    if not Path(f"/proc/{pid}").exists():
        return "there is no such process"
    if not os.access(f"/proc/{pid}/maps", os.R_OK) or not list(_links(Path(f"/proc/{pid}/fd"))):
        return "it is another user's, and may not be read"
    return "it has no DPDK in it, or does not export its data path"
