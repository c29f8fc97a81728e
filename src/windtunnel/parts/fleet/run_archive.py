"""Archives of run directories from a testbed, of which each run is taken exactly once.

An attempt unpacks into a directory of its own, beside the destination, and renames it at the end. A rename to a directory that is not
empty fails: of several attempts at one run the first is kept, and the others leave no files.
"""

import errno
import io
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from windtunnel.errors import UserError, cannot_write
from windtunnel.runs.directories import make_missing
from windtunnel.runs.files import sync_directory
from windtunnel.tree import MOST_DEPTH

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Of compression, whose faults zipfile reports as its own."""
MOST_FILES, MOST_BYTES, MOST_RATIO = 10_000, 4 << 30, 200
"""Limits of an archive: `pack` does not compress, and windows, which repeat their keys, shrink tenfold if a testbed compresses them."""
_DAMAGED = (NotADirectoryError, IsADirectoryError, FileExistsError, FileNotFoundError)
"""What it means in a new directory if a member is a file and has others below it, or has no name."""
PREFIX = ".attempt-"
"""Prefix of the directory of an attempt that is not taken yet."""


def pack(directories: Sequence[Path]) -> bytes:
    """Directories as an archive, by their positions. Raises OSError."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", strict_timestamps=False) as archive:
        for position, directory in enumerate(directories):
            for path in (directory, *directory.rglob("*")):
                if path.is_symlink() or not (path.is_file() or path.is_dir()):
                    continue  # a link may lead to any file of the testbed, and a FIFO to no end
                archive.write(path, Path(str(position), path.relative_to(directory)))
    return packed.getvalue()


def take(packed: bytes, directories: Sequence[Path]) -> list[bool]:
    """Unpacks an archive into these directories, and returns for each whether it was taken: False if another attempt was first.

    Raises UserError if the disk is full, or the archive is damaged; then no files of it remain.
    """
    parent = directories[0].parent
    try:
        for directory in directories:
            make_missing(directory.parent)
        attempt = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    except OSError as error:
        raise cannot_write(parent, error) from error
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            _check(archive)
            archive.extractall(attempt)  # extractall keeps every member below the directory
        runs = [attempt / str(position) for position in range(len(directories))]
        if missing := [run.name for run in runs if not run.is_dir()]:
            raise ValueError(f"run {missing[0]} is no directory in it")
        return [_take(run, directory) for run, directory in zip(runs, directories, strict=True)]
    except (
        *_DAMAGED,
        zipfile.BadZipFile,
        zlib.error,
        RuntimeError,
        ValueError,
        OverflowError,
        LookupError,
        EOFError,
    ) as error:
        raise UserError(f"{directories[0]}: what the testbed sent is damaged: {error}") from error
    except OSError as error:
        raise cannot_write(parent, error) from error
    finally:
        shutil.rmtree(attempt, ignore_errors=True)


def _check(archive: zipfile.ZipFile) -> None:
    """Raises ValueError for an archive that would fill the disk, or is compressed in another way. Sizes in its directory are bounds: the data of a
    member beyond its size is not unpacked."""
    members = archive.infolist()
    if len(members) > MOST_FILES:
        raise ValueError(f"{len(members):,} files")
    total = sum(member.file_size for member in members)
    if total > MOST_BYTES:
        raise ValueError(f"{total:,} bytes")
    if any(member.filename.count("/") > MOST_DEPTH for member in members):
        raise ValueError(f"more than {MOST_DEPTH} directories in each other")
    directories = {parent for member in members for parent in PurePosixPath(member.filename).parents}
    if len(directories) > MOST_FILES:
        raise ValueError(f"{len(directories):,} directories")
    for member in members:
        if member.compress_type not in METHODS:
            raise ValueError(
                f"{member.filename!r} is compressed by method {member.compress_type}, not stored or deflated"
            )
        if member.file_size > MOST_RATIO * (member.compress_size + 1024):
            raise ValueError(f"{member.filename!r} grows {member.file_size // max(1, member.compress_size):,} times")


def sweep(directories: Iterable[Path]) -> None:
    """Removes the files of killed attempts beside these directories. No other attempt may be running there."""
    for parent in {directory.parent for directory in directories}:
        for attempt in parent.glob(f"{PREFIX}*"):
            shutil.rmtree(attempt, ignore_errors=True)


def _take(attempt: Path, directory: Path) -> bool:
    """Renames an attempt to its directory after all of it is on the disk. False if another attempt was first."""
    for path in (attempt, *attempt.rglob("*")):
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    try:
        os.rename(attempt, directory)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    sync_directory(directory.parent)
    return True
