"""The daemon's directory: one daemon for each, and for each CPU of the machine."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from windtunnel.api.errors import UserError
from windtunnel.api.files import own_directory, own_lock, temporary_of
from windtunnel_sharing import claims, journal

STATE, SOCKET, LOCK = "state.json", "share.sock", "lock"
JOURNAL = f"share{journal.SUFFIX}"


def default_directory() -> Path:
    """Raises UserError where it is there and is not ours alone."""
    return journal.directory() / "share"


@contextmanager
def only_one(directory: Path, cpus: Iterable[int]) -> Iterator[list[int]]:
    """Holds both until the end, or until the process is killed. Makes the directory, for its owner alone, where it is not there. Yields the
    descriptors that claim the CPUs, for the guardian.

    Raises UserError where another daemon is there, and where the directory is not ours alone, or others may put another one in its place.
    """
    own_directory.make(directory)
    path = directory / LOCK
    try:
        file = os.fdopen(own_lock.open_own(path), "a+")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}", remedy="set `state` to a directory that can be written") from None
    with file:
        try:
            own_lock.take(file.fileno())
        except BlockingIOError:
            file.seek(0)
            pid = file.read(20).strip()
            raise UserError(
                f"a daemon (process {pid or 'unknown'}) runs with {directory}",
                remedy="stop it first, or set another `state` directory and other CPUs",
            ) from None
        file.truncate(0)
        with suppress(OSError):  # for words alone: the disk may be full
            os.write(file.fileno(), f"{os.getpid()}\n".encode())
        with claims.claimed(cpus, directory / JOURNAL) as held:
            yield held


def tidy(directory: Path) -> None:
    """Removes what a killed daemon left: its socket, and a state that was not written to the end. Of a daemon that lives, nothing.

    Raises UserError where the directory is not ours alone.
    """
    with (
        own_directory.opened(directory),
        suppress(FileNotFoundError, BlockingIOError),
        (directory / LOCK).open("r+") as file,
    ):
        own_lock.take(file.fileno())
        for left in (directory / SOCKET, temporary_of(directory / STATE)):
            left.unlink(missing_ok=True)
