"""A program of its own, the guard of one tool: python -I -S guard.py CPUS PROGRAM [ARGUMENT...]

It starts the tool on these CPUs and ends as the tool ends. As soon as its stdin is at an end, because its parent has closed it or is gone, it
asks the tool to stop by SIGINT, and ends it a moment later. Whatever the tool has started ends with it. If the guard itself is killed, the
kernel ends the tool (PR_SET_PDEATHSIG of prctl(2)).
"""

import ctypes
import os
import resource
import select
import signal
import sys
from contextlib import suppress

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
PATIENCE_S = 3.0
"""For what a tool writes at its end."""
MOST_BYTES = 16 << 20
"""Of what a tool writes: no reader takes more."""
NOT_STARTED = 127
"""Exit code, as that of a shell."""


def main(cpus: str, *command: str) -> int:
    """The exit code of the tool, or 128 and the number of the signal that ended it."""
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what the tool starts becomes our child when its parent ends
    with suppress(OSError):  # of CPUs that were taken offline meanwhile
        os.sched_setaffinity(0, [int(cpu) for cpu in cpus.split(",")])
    guard = os.getpid()
    tool = os.fork()
    if tool == 0:
        _become(guard, prctl, command)
    tool_fd = os.pidfd_open(tool)
    ready, _, _ = select.select([0, tool_fd], [], [])
    if tool_fd not in ready:
        with suppress(ProcessLookupError):
            os.killpg(tool, signal.SIGINT)
        select.select([tool_fd], [], [], PATIENCE_S)
    os.kill(tool, signal.SIGKILL)  # until it is waited for, the number is its own
    _, status = os.waitpid(tool, 0)
    _end_children()
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _become(guard: int, prctl: "ctypes._NamedFuncPointer", command: tuple[str, ...]) -> None:
    """Becomes the tool, in a process group of its own. Does not return."""
    try:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() == guard:  # else it has ended before the call
            os.setpgid(0, 0)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores
                signal.signal(number, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))
            os.execv(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(NOT_STARTED)


def _end_children() -> None:
    """Ends what the tool has left, until nothing is below us."""
    while children := [int(name) for name in os.listdir("/proc") if name.isdecimal() and _parent(name) == os.getpid()]:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _parent(process: str) -> int:
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:  # it has ended
        return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
