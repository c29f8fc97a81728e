"""A tenant's process and threads, as the file names them."""

from fnmatch import fnmatchcase
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.sharing import threads
from windtunnel.sharing.daemon.keys import TenantKeys
from windtunnel.text_file import beginning

PROC = Path("/proc")
MAX_PIDFILE_BYTES = 64


def pid_of(keys: TenantKeys, base: Path) -> int | None:
    """The process of a tenant; None where there is none at the moment. `base` is the directory of the file.

    Raises UserError where several processes have the text in their command line.
    """
    if keys.pid is not None:
        return keys.pid if threads.stat(keys.pid) else None
    if keys.pidfile is not None:
        pid = _in_file(base / keys.pidfile)
        return pid if pid and threads.stat(pid) else None
    found = [pid for pid in _pids() if keys.command and keys.command in _command_line(pid)]
    if len(found) > 1:
        pids = ", ".join(map(str, found[:8]))
        raise UserError(
            f'{keys.name}: several processes have "{keys.command}" in their command line: {pids}', "pid = ..."
        )
    return found[0] if found else None


def tids_of(pid: int, pattern: str, known: dict[int, bool]) -> tuple[int, ...]:
    """Threads of a process whose name matches. `known` remembers for each thread whether it does, and is changed in place: a thread
    is asked once, since most name themselves as they begin."""
    now = threads.threads_of(pid)
    for tid in known.keys() - set(now):
        del known[tid]
    for tid in now:
        if tid not in known:
            known[tid] = fnmatchcase(_thread_name(pid, tid), pattern)
    return tuple(tid for tid in now if known[tid])


def _in_file(path: Path) -> int | None:
    try:
        return int(beginning(path, MAX_PIDFILE_BYTES).split()[0])
    except (OSError, ValueError, IndexError):
        return None


def _pids() -> list[int]:
    return sorted(int(path.name) for path in PROC.iterdir() if path.name.isdecimal())


def _command_line(pid: int) -> str:
    try:
        return (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _thread_name(pid: int, tid: int) -> str:
    try:
        return (PROC / str(pid) / "task" / str(tid) / "comm").read_text(errors="replace").rstrip("\n")
    except OSError:
        return ""
