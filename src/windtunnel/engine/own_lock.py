"""Files whose lock no other user takes.

flock(2) asks for no right to write: whoever may read a file may lock it, and keep its owner waiting for as long as they like.
"""

import fcntl
import os
import stat
import time
from pathlib import Path

MODE = 0o600
LOOK_S = 0.02
"""Between two tries."""
_FLAGS = os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def open_own(path: Path | str, access: int = os.O_RDWR | os.O_APPEND, directory: int | None = None) -> int:
    """A descriptor of the file, which is made if it is missing. If it is this user's, nobody else may open it from then on. `access`: how it is
    opened; `directory`: a descriptor, from which a relative path begins. Raises OSError."""
    descriptor = os.open(path, access | _FLAGS, MODE, dir_fd=directory)
    status = os.fstat(descriptor)
    if status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) & ~MODE:
        os.fchmod(descriptor, MODE)  # somebody gave it to others
    return descriptor


def take(descriptor: int, patience_s: float = 0.0) -> None:
    """Locks the file until the last copy of the descriptor is closed. Raises BlockingIOError if another process keeps the lock for longer than
    `patience_s`, in seconds."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(LOOK_S)
