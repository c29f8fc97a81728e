"""A tenant among the processes that run: by its pid, or one of its threads by DPDK lcore.

Everything is read from /proc; DPDK names its worker threads `lcore-worker-N` up to 22.07 and `rte-worker-N` since 22.11, and
leaves the main lcore's thread the program's name.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from windtunnel.errors import UserError

PROC = Path("/proc")
WORKER = re.compile(r"(?:lcore-worker|lcore-slave|rte-worker)-(\d+)")
_COMM_BYTES = 15


@dataclass(frozen=True)
class Tenant:
    """A process that shares cores, or some threads of one."""

    name: str
    pid: int
    tids: tuple[int, ...]
    """The threads that do its work, ascending."""


def threads(pid: int, proc: Path = PROC) -> dict[int, str]:
    """Thread id -> its name, ascending; what ends meanwhile is left out. Raises UserError where there is no such process."""
    names = {}
    try:
        for task in sorted((proc / str(pid) / "task").iterdir(), key=lambda path: int(path.name)):
            name = _comm(task)
            if name is not None:
                names[int(task.name)] = name
    except (FileNotFoundError, ProcessLookupError):  # gone before, or meanwhile
        names = {}
    if not names:
        raise UserError(f"no process {pid}", remedy="use the pid of a running process: ps -e")
    return names


def by_pid(pid: int, name: str | None = None, only: str | None = None, proc: Path = PROC) -> Tenant:
    """A process by its pid; `only`: beginning of the names of the threads that count. Raises UserError where there is none."""
    found = threads(pid, proc)
    chosen = tuple(tid for tid, comm in found.items() if only is None or comm.startswith(only))
    if not chosen:
        names = ", ".join(sorted(set(found.values())))
        raise UserError(f"process {pid} has no thread {only}...", remedy=f"its threads are named {names}")
    return Tenant(name or found.get(pid, str(pid)), pid, chosen)


def by_lcore(pid: int, lcore: int, name: str | None = None, proc: Path = PROC) -> Tenant:
    """The worker thread of a DPDK process that is lcore N. Raises UserError where it has none."""
    found = threads(pid, proc)
    workers = {int(match[1]): tid for tid, comm in found.items() if (match := WORKER.fullmatch(comm))}
    if lcore not in workers:
        known = ", ".join(map(str, sorted(workers)))
        raise UserError(
            f"process {pid} ({found.get(pid)}) has no worker thread of lcore {lcore}",
            remedy=f"its lcores with workers: {known}" if known else "none of its threads has a DPDK name: use its pid",
        )
    return Tenant(name or f"{found.get(pid, pid)}:{lcore}", pid, (workers[lcore],))


def cpu_ns(tid: int, pid: int | None = None, proc: Path = PROC) -> tuple[int, int]:
    """Of a thread since its start: ns on a CPU, and ns in which it could have run and did not. (0, 0) where it has ended."""
    path = proc / str(pid or tid) / "task" / str(tid) / "schedstat"
    try:
        ran, waited, _slices = map(int, path.read_text().split())
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return 0, 0
    return ran, waited


def _comm(task: Path) -> str | None:
    try:
        return (task / "comm").read_text().removesuffix("\n")[:_COMM_BYTES]
    except (FileNotFoundError, ProcessLookupError):
        return None
