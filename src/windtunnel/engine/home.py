"""What is kept from one run to the next, in directories of this user's: readings of the host, costs, a key, caches.

Root may have the HOME of another user, since sudo may keep it, and whoever may write on the way to a file leads us to another one. So a place
on whose way another user could put something else is not taken, and a file below it is made and read by the descriptor of its directory.
"""

import contextlib
import os
import pwd
import secrets
import stat
from pathlib import Path

from windtunnel.engine import own_directory
from windtunnel.engine.walked import walk
from windtunnel.errors import UserError

REMEDY = "XDG_STATE_HOME and XDG_CACHE_HOME set the directories"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def state_directory() -> Path:
    """~/.local/state/windtunnel, or below XDG_STATE_HOME."""
    return _base("XDG_STATE_HOME", ".local/state") / "windtunnel"


def cache_directory() -> Path:
    """~/.cache/windtunnel, or below XDG_CACHE_HOME."""
    return _base("XDG_CACHE_HOME", ".cache") / "windtunnel"


def make(directory: Path) -> None:
    """Makes the directory if it is missing, and lets nobody else write it. Raises UserError if it cannot be made, is another user's,
    or others may put another one in its place."""
    with contextlib.suppress(OSError):
        _take_from_others(directory)
    try:
        own_directory.make(directory)
    except UserError as error:
        raise UserError(error.message, remedy=REMEDY) from None


def _take_from_others(directory: Path) -> None:
    """What a careless umask made of it, on an own way."""
    passed: list[os.stat_result] = []
    place = walk(directory, passed, goes_on=own_directory.are_own)
    try:
        *way, status = passed
        is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
        if is_ours and status.st_mode & _OTHERS_WRITE and own_directory.are_own(way):
            # by its descriptor: its name may lead elsewhere a moment later
            os.chmod(f"/proc/self/fd/{place}", stat.S_IMODE(status.st_mode) & ~_OTHERS_WRITE)
    finally:
        os.close(place)


def keep(file: Path, content: bytes) -> None:
    """Writes it whole or not at all, for this user alone. Raises UserError as `make`, and OSError."""
    make(file.parent)
    part = f".{file.name}.{secrets.token_hex(4)}"
    with own_directory.opened(file.parent) as directory:
        try:
            with os.fdopen(os.open(part, _NEW, 0o600, dir_fd=directory), "wb") as stream:
                stream.write(content)
            os.replace(part, file.name, src_dir_fd=directory, dst_dir_fd=directory)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part, dir_fd=directory)


def read(file: Path, most_bytes: int) -> bytes:
    """What this user has kept. Raises UserError if it is not ours alone, FileNotFoundError if there is none."""
    if own_directory.is_missing(file.parent):
        raise FileNotFoundError
    make(file.parent)
    return own_directory.read(file, most_bytes)


def is_own(file: Path) -> bool:
    """Whether there is a regular file of this user's; in a directory that `make` has made it stays so."""
    with contextlib.suppress(OSError):
        status = file.lstat()
        return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
    return False


def _base(variable: str, below: str) -> Path:
    """Returns the first directory that the environment or the system names and whose path nobody else can change."""
    places = [os.environ.get(variable, ""), os.path.join(os.environ.get("HOME", ""), below)]
    with contextlib.suppress(KeyError):  # a user without a name
        places.append(os.path.join(pwd.getpwuid(os.geteuid()).pw_dir, below))
    own = (Path(place) for place in places if os.path.isabs(place) and own_directory.may_become_own(Path(place)))
    return next(own, own_directory.in_tmp())
