"""Processes that something has started, wherever they are now: by their parents, and by a variable that all of them have in their environment.

An engine's guard stays the ancestor of all that the engine starts: a process whose parent ends becomes its child. Without a guard, a process
group is left by setsid, a parent by its end, and a process that gives its children another environment gives them away.
"""

import contextlib
import os
import signal
from collections import deque
from collections.abc import Iterator

from windtunnel import proc

MARK = "WINDTUNNEL_STARTED_BY"
PASSES = 5
"""Looks at all processes: who starts others meanwhile is not faster than that."""

_Stat = tuple[int, int]
"""The parent of a process, and when the process started, in ticks: its number may be another's a moment later."""


def kill(ancestor: int | None, mark: str | None = None) -> None:
    """Ends all processes of this user below this one, and those with this value of MARK, but neither this process nor the ancestor.

    Raises ValueError for an ancestor that others have, too: the kernel, the first process, this one, or one above it.
    """
    for _ in range(PASSES):
        living = list(_opened(ancestor, mark))
        if not living:
            return
        for pid_fd in living:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(pid_fd, signal.SIGKILL)
            os.close(pid_fd)


def _opened(ancestor: int | None, mark: str | None) -> Iterator[int]:
    """A descriptor of each. What it is of is looked at again once there is one."""
    found = {int(name): stat for name in os.listdir("/proc") if name.isdecimal() and (stat := _stat(int(name)))}
    below = set[int]() if ancestor is None else _below(ancestor, found)
    if ancestor is not None and (ancestor <= 1 or os.getpid() in (ancestor, *below)):
        raise ValueError(f"process {ancestor} has children that are not ours")
    variable = f"{MARK}={mark}".encode()
    for pid, stat in found.items():
        if pid in (os.getpid(), ancestor) or not (pid in below or (mark is not None and _has(pid, variable))):
            continue
        with contextlib.suppress(OSError):
            pid_fd = os.pidfd_open(pid)
            if (now := _stat(pid)) and now[1] == stat[1]:
                yield pid_fd
            else:
                os.close(pid_fd)


def _below(ancestor: int, found: dict[int, _Stat]) -> set[int]:
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in found.items():
        children.setdefault(parent, []).append(pid)
    below, left = set[int](), deque(children.get(ancestor, []))
    while left:
        below.add(pid := left.popleft())
        left += children.get(pid, [])
    return below


def _stat(pid: int) -> _Stat | None:
    """None for a process that has ended, waited for or not."""
    with contextlib.suppress(OSError):
        state, parent, *others = proc.text(f"/proc/{pid}/stat").rpartition(")")[2].split()
        return None if state in "ZX" else (int(parent), int(others[17]))
    return None


def _has(pid: int, variable: bytes) -> bool:
    """A process of this user. That of another one is not read, even by root: who has it in a file system of theirs keeps the reader waiting."""
    with contextlib.suppress(OSError):  # it has ended
        if os.stat(f"/proc/{pid}").st_uid != os.geteuid():
            return False
        return variable in os.fsencode(proc.text(f"/proc/{pid}/environ")).split(b"\0")
    return False
