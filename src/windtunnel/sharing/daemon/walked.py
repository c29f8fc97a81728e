"""Opens a file whose way others may change meanwhile, and tells who they are."""

import errno
import os
import stat
from pathlib import Path, PurePath

MOST_LINKS = 40
"""On the way, as of the kernel's (MAXSYMLINKS)."""
_STEP = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def walk(path: Path) -> tuple[int, list[os.stat_result]]:
    """A descriptor (O_PATH) of what is there, a link not followed if it is the last part; and what was passed: directories, links on the way, and
    at last itself. Each step begins at what was passed before, so it is what was looked at, whatever is put in its place. Raises OSError."""
    here, links = os.open("/", _STEP), 0
    passed, left = [os.fstat(here)], list(reversed(path.absolute().parts[1:]))
    try:
        while left:
            there = os.open(left.pop(), _STEP, dir_fd=here)
            passed.append(os.fstat(there))
            if not (left and stat.S_ISLNK(passed[-1].st_mode)):
                here, there = there, here
                os.close(there)
                continue
            try:
                target = os.readlink("", dir_fd=there)
            finally:
                os.close(there)
            links += 1
            if links > MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
            left += reversed(PurePath(target).parts)  # "/" is one of them, and begins anew
    except OSError:
        os.close(here)
        raise
    return here, passed


def beginning(walked: int, most_bytes: int) -> str:
    """Of a regular file that was walked to. Raises OSError for anything else."""
    if not stat.S_ISREG(os.fstat(walked).st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    opened = os.open(f"/proc/self/fd/{walked}", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        return os.read(opened, most_bytes).decode(errors="replace")
    finally:
        os.close(opened)
