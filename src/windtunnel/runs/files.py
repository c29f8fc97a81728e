"""Files that are whole or absent: replaced at once, or appended to by whole lines."""

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from windtunnel.errors import UserError, cannot_write


def check_new(*paths: Path | None) -> None:
    """Raises UserError, before there is anything to lose, for files that exist, lie in no directory, or are named twice. None: not asked for."""
    asked = [path for path in paths if path is not None]
    for place, path in enumerate(asked):
        if path.exists():
            raise UserError(f"{path}: exists already", remedy="choose a new file")
        if not path.parent.is_dir():
            raise UserError(
                f"{path}: {path.parent} is not a directory", remedy="choose a file in an existing directory"
            )
        if path.absolute() in [other.absolute() for other in asked[:place]]:
            raise UserError(f"{path}: named twice", remedy="choose two files")


def replace(path: Path, text: str) -> None:
    """Write `text` to `path` so that a reader, or a crash, sees the old file or the new one and nothing between.

    Raises UserError where it cannot, and leaves the old file.
    """
    with _replacing(path) as (_, file):
        file.write(text.encode())


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """As `replace`, for what somebody else writes: enters with the name of an empty file that takes the place of `path` at the end. Who may
    write the directory can put something else there meanwhile."""
    with _replacing(path) as (temporary, _):
        yield temporary


@contextmanager
def _replacing(path: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """The new file, by its name and open. What has its name is removed before: a file that somebody killed has left, or a link that would lead
    us out of the directory."""
    temporary = temporary_of(path)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        temporary.unlink(missing_ok=True)
        with open(os.open(temporary, flags, 0o666), "w+b") as file:
            yield temporary, file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_directory(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def copy(source: Path, target: Path) -> None:
    """Copies a regular file into a new one. Raises UserError for a link, which may lead to what the caller alone may read, a FIFO or a
    device; OSError."""
    try:
        descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UserError(f"{source}: a link, which is not copied", remedy="put the file itself there") from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UserError(f"{source}: not a file, and so not copied", remedy="remove it")
    with os.fdopen(descriptor, "rb") as read, open(target, "xb") as written:
        shutil.copyfileobj(read, written)


def temporary_of(path: Path) -> Path:
    """What `replacing` leaves where it is killed."""
    return path.with_name(f".{path.name}.tmp")


class LineFile:
    """A text file that grows by whole lines; each is handed to the kernel before `append` returns.

    A line that the disk cannot take whole is taken back, so that a full disk leaves the lines before it.
    """

    def __init__(self, path: Path):
        self.path = path
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise cannot_write(path, error) from error
        self._size = 0

    def append(self, text: str) -> None:
        """Append `text`, one or more whole lines. Raises UserError where the disk does not take it."""
        data = text.encode()
        try:
            written = 0
            while written < len(data):
                written += os.write(self._fd, data[written:])
        except OSError as error:
            os.ftruncate(self._fd, self._size)
            raise cannot_write(self.path, error) from error
        self._size += len(data)

    def close(self) -> None:
        """Close for good, with everything on the disk. Raises UserError where it did not get there."""
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise cannot_write(self.path, error) from error
        finally:
            os.close(self._fd)


def sync_directory(directory: Path) -> None:
    """Puts the names in a directory on the disk."""
    fd = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
