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
    """A descriptor of each: its number may be another process's a moment later."""
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal() or int(process.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            pid_fd = os.pidfd_open(int(process.name))
            if variable in (process / "environ").read_bytes().split(b"\0"):
                yield pid_fd
            else:
                os.close(pid_fd)
