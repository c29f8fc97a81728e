"""Processes that something has started, wherever they are now: by a variable that all of them have in their environment.

A process group is left by setsid, and a parent by its end. A process that gives its children another environment gives them away.
"""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

MARK = "WINDTUNNEL_STARTED_BY"
PASSES = 5
"""Looks at all processes: who starts others meanwhile is not faster than that."""


def kill(mark: str) -> None:
    """Ends all processes of this user with this value of MARK, but for this one."""
    for _ in range(PASSES):
        living = list(_marked(f"{MARK}={mark}".encode()))
        if not living:
            return
        for pid_fd in living:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(pid_fd, signal.SIGKILL)
            os.close(pid_fd)


def _marked(variable: bytes) -> Iterator[int]:
    """A descriptor of each: its number may be another process's a moment later, and is looked at again once there is a descriptor."""
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal() or int(process.name) == os.getpid() or not _has(process, variable):
            continue
        with contextlib.suppress(OSError):
            pid_fd = os.pidfd_open(int(process.name))
            if _has(process, variable):
                yield pid_fd
            else:
                os.close(pid_fd)


def _has(process: Path, variable: bytes) -> bool:
    with contextlib.suppress(OSError):  # it has ended, or is another user's
        return variable in (process / "environ").read_bytes().split(b"\0")
    return False
