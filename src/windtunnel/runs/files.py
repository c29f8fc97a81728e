"""Files that are whole or absent: replaced at once, or appended to by whole lines."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import reduce
from operator import and_
from pathlib import Path
from typing import BinaryIO

from windtunnel.errors import UserError, cannot_write
from windtunnel.runs.directories import held
from windtunnel.text_file import open_regular

_PIECE_BYTES = 1 << 20


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


def replace(path: Path, text: str, mode: int = 0o666) -> None:
    """Write `text` to `path` so that a reader, or a crash, sees the old file or the new one and nothing between. `mode`: of the new file, less
    the umask.

    Raises UserError if it cannot, and leaves the old file.
    """
    with _replacing(path, mode) as file:
        file.write(text.encode())


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Replaces as `replace` does, for another writer: enters with a path of the new, empty file itself, whatever takes its name
    meanwhile."""
    with _replacing(path, 0o666) as file:
        yield Path(f"/proc/self/fd/{file.fileno()}")


@contextmanager
def _replacing(path: Path, mode: int) -> Iterator[BinaryIO]:
    """The new file. What has its name is removed before: a file that somebody killed has left, or a link that would lead us out of the
    directory."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with held(path.parent) as directory:
            temporary = temporary_of(directory / path.name)
            try:
                temporary.unlink(missing_ok=True)
                with open(os.open(temporary, flags, mode), "w+b") as file:
                    yield file
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, directory / path.name)
                sync_directory(directory)
            finally:
                with suppress(OSError):
                    temporary.unlink(missing_ok=True)
    except OSError as error:
        if error.filename and Path(os.fsdecode(error.filename)).name == temporary_of(path).name:
            raise UserError(
                f"{path}: cannot be written: {temporary_of(path)}, under which it is written first: {error.strerror}",
                remedy=f"remove {temporary_of(path)}, or name a file in a directory of your own",
            ) from error
        raise cannot_write(path, error) from error


def mode_of_copy(*originals: os.stat_result) -> int:
    """Of a new file, or directory, that says what others say: nobody may read it who may not read all of them."""
    shared = reduce(and_, (each.st_mode for each in originals), 0o077)
    return 0o700 | shared if all(stat.S_ISDIR(each.st_mode) for each in originals) else 0o600 | shared & 0o066


def copy(source: Path, target: Path) -> None:
    """Copies a regular file into a new one, which nobody may read who may not read the old one. It takes no more of the disk: a hole, which
    may be longer than the disk, stays one. Raises UserError for a link, which may lead to what the caller alone may read, a FIFO or a
    device; OSError."""
    try:
        descriptor = open_regular(source, follow=False)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UserError(f"{source}: a link, which is not copied", remedy="put the file itself there") from None
        if error.errno == errno.EINVAL:
            raise UserError(f"{source}: not a file, and so not copied", remedy="remove it") from None
        raise
    with os.fdopen(descriptor, "rb") as read:
        mode = mode_of_copy(os.fstat(descriptor))
        with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as written:
            size = os.fstat(descriptor).st_size
            for start, end in _extents(descriptor, size):
                read.seek(start)
                written.seek(start)
                written.writelines(read.read(min(end - at, _PIECE_BYTES)) for at in range(start, end, _PIECE_BYTES))
            written.truncate(size)


def _extents(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Where an open file has data, by lseek(2): one extent if its file system has no holes."""
    end = 0
    while end < size:
        try:
            start = os.lseek(descriptor, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # a hole to the end
                return
            raise
        end = min(os.lseek(descriptor, start, os.SEEK_HOLE), size)
        yield start, end


def temporary_of(path: Path) -> Path:
    """What `replacing` leaves if it is killed."""
    return path.with_name(f".{path.name}.tmp")


class LineFile:
    """A text file that grows by whole lines; each is handed to the kernel before `append` returns.

    A line that the disk cannot take whole is taken back, so that a full disk leaves the lines before it.
    """

    def __init__(self, path: Path, mode: int = 0o644):
        """`mode`: less the umask."""
        self.path = path
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, mode)
        except OSError as error:
            raise cannot_write(path, error) from error
        self._size = 0

    def append(self, text: str) -> None:
        """Append `text`, one or more whole lines. Raises UserError if the disk does not take it."""
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
        """Close for good, with everything on the disk. Raises UserError if it did not get there."""
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
