"""The daemon's directory: one daemon for each, and for each CPU of the machine."""

import fcntl
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from windtunnel.engine import own_directory
from windtunnel.errors import UserError
from windtunnel.runs.files import temporary_of
from windtunnel.sharing import changed_threads

RESTORING_S = 2.0
"""A guardian needs milliseconds."""
STATE, SOCKET, LOCK = "state.json", "share.sock", "lock"
JOURNAL = f"share{changed_threads.SUFFIX}"


def default_directory() -> Path:
    """Raises UserError where it is there and is not ours alone."""
    return changed_threads.directory() / "share"


@contextmanager
def only_one(directory: Path, cpus: Iterable[int]) -> Iterator[list[int]]:
    """Holds both until the end, or until the process is killed. Makes the directory, for its owner alone, where it is not there. Yields the
    descriptors that claim the CPUs, for the guardian: a daemon that starts while another one's threads are still restored would take
    what it finds for how they were.

    Raises UserError where another daemon is there, and where the directory is not ours alone.
    """
    own_directory.make(directory)
    path = directory / LOCK
    try:
        file = path.open("a+")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}", remedy="set `state` to a directory that can be written") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
        claims: list[int] = []
        try:
            claims += (_cpu(cpu) for cpu in cpus)
            yield claims
        finally:
            for claim in claims:
                os.close(claim)


def tidy(directory: Path) -> None:
    """Removes what a killed daemon left: its socket, and a state that was not written to the end. Of a daemon that lives, nothing.

    Raises UserError where the directory is not ours alone.
    """
    with (
        own_directory.opened(directory),
        suppress(FileNotFoundError, BlockingIOError),
        (directory / LOCK).open("r+") as file,
    ):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for left in (directory / SOCKET, temporary_of(directory / STATE)):
            left.unlink(missing_ok=True)


def _cpu(cpu: int) -> int:
    """A descriptor that claims a CPU: the kernel takes a lock back with the last process that has it open. The file is in a directory that no
    other user writes: anybody may bind an abstract socket, and so could keep the daemon from starting."""
    directory = changed_threads.directory()
    own_directory.make(directory)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    claim = os.open(directory / f"cpu{cpu}.lock", flags, 0o600)
    deadline = time.monotonic() + RESTORING_S
    while True:
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return claim
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(claim)
                raise UserError(
                    f"another daemon shares CPU {cpu}, or its guardian still restores its tenants",
                    remedy="set `cpus` to CPUs that no other daemon shares",
                ) from None
        time.sleep(0.02)
