"""The threads of a process, their names and their CPU time, from /proc."""

from pathlib import Path

from windtunnel.errors import UserError

PROC = Path("/proc")
_COMM_BYTES = 15


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
