"""`python -m windtunnel_sharing.pools.remove_groups FD GROUP`: removes groups once the daemon is gone, kill -9 included.

A process of its own, for the shield from before the daemon gave up its rights: the directory above a cgroup of root's may be written by
nobody else. It waits for the end of a pipe, and then for the guardian, which takes the tenants out.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from windtunnel_sharing import own_process

PATIENCE_S, RESTORED_S, LOOK_S = 30.0, 2.0, 0.05
"""For the guardian of a daemon that was killed; for those that end, of a daemon that has restored everybody itself; between two looks."""
RESTORED = b"restored"


@contextmanager
def swept(group: Path, last: ExitStack | None = None) -> Iterator[None]:
    """Starts the process: at the exit, also by a kill, a group and those within are removed. `last`: where its end is waited for, so that several
    remove theirs at the same time; else that is at the exit."""
    read_end, write_end = os.pipe()
    try:
        arguments = [str(read_end), str(group.absolute())]
        sweeper = own_process.start("windtunnel_sharing.pools.remove_groups", arguments, [read_end])
    finally:
        os.close(read_end)
    try:
        yield
    finally:
        with suppress(BrokenPipeError):  # it was killed
            os.write(write_end, RESTORED)
        os.close(write_end)
        if last is None:
            _wait_for(sweeper)
        else:
            last.callback(_wait_for, sweeper)


def _wait_for(sweeper: "subprocess.Popen[bytes]") -> None:
    """Not beyond its own patience: anybody may hold the lock of the directory above the groups, in which it waits in the kernel."""
    with suppress(subprocess.TimeoutExpired):
        sweeper.wait(2 * RESTORED_S)


def sweep(fd: int, group: Path) -> None:
    """Reads until the daemon's end is closed; gives up on groups that somebody stays in."""
    patience_s = PATIENCE_S
    while os.read(fd, 64):
        patience_s = RESTORED_S  # nobody restores those any more who are still there
    deadline = time.monotonic() + patience_s
    while group.is_dir() and time.monotonic() < deadline:
        for path in [*(inner for inner in group.iterdir() if inner.is_dir()), group]:
            try:
                path.rmdir()
            except OSError:
                time.sleep(LOOK_S)


if __name__ == "__main__":
    sweep(int(sys.argv[1]), Path(sys.argv[2]))
