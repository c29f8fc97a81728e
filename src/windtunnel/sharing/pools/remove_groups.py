"""`python -m windtunnel.sharing.pools.remove_groups FD GROUP`: removes the shield's groups once the daemon is gone, kill -9 included.

A process of its own, from before the daemon gave up its rights: the directory above a cgroup of root's may be written by nobody else.
It waits for the end of a pipe, and then for the guardian, which takes the tenants out.
"""

import os
import sys
import time
from pathlib import Path

PATIENCE_S, LOOK_S = 30.0, 0.05


def sweep(fd: int, group: Path) -> None:
    """Reads until the daemon's end is closed; gives up on groups that somebody stays in."""
    while os.read(fd, 64):
        pass
    deadline = time.monotonic() + PATIENCE_S
    while group.is_dir() and time.monotonic() < deadline:
        for path in [*(inner for inner in group.iterdir() if inner.is_dir()), group]:
            try:
                path.rmdir()
            except OSError:
                time.sleep(LOOK_S)


if __name__ == "__main__":
    sweep(int(sys.argv[1]), Path(sys.argv[2]))
