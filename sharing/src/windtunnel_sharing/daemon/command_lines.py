"""Command lines of other processes, for which nobody here waits.

The kernel reads one behind the lock of its process's memory. Whoever owns the process can hold that for ever, by a page of a file system of
their own that never comes, and a thread that waits for it ends with its process alone.
"""

from collections.abc import Iterable
from threading import Thread

from windtunnel_sharing import threads

PATIENCE_S = 0.2
MOST_BYTES = 128 << 10
"""Of a command line, in which a text is looked for: one may have megabytes."""


class NotRead(Exception):
    """A process keeps its command line from being read. `pid`: which."""

    def __init__(self, pid: int):
        super().__init__(pid)
        self.pid = pid


class _Reader(Thread):
    def __init__(self, pids: Iterable[int]):
        super().__init__(daemon=True)
        self._pids = pids
        self.pid = 0
        self.lines: dict[int, str] = {}

    def run(self) -> None:
        for pid in self._pids:
            self.pid = pid
            self.lines[pid] = _beginning(pid)


_waiting: dict[int | None, _Reader] = {}
"""User -> the thread that waits for a command line of theirs: one at most. None: of all other users."""


def read(pids: Iterable[int], user: int | None) -> dict[int, str]:
    """The beginning of each, with spaces between the arguments; "": it has ended, or has none. The processes are of that user, None: of others
    than us. Raises NotRead after PATIENCE_S, and at once as long as an earlier call's still waits; UserError if no thread can be started."""
    reader = _waiting.pop(user, None)
    if reader is None or not reader.is_alive():
        reader = _Reader(pids)
        threads.start(reader)
        reader.join(PATIENCE_S)
    if reader.is_alive():
        _waiting[user] = reader
        raise NotRead(reader.pid)
    return reader.lines


def _beginning(pid: int) -> str:
    try:
        with (threads.PROC / str(pid) / "cmdline").open("rb", buffering=0) as file:
            return file.read(MOST_BYTES).replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
