"""One daemon for each state directory and each CPU of the machine."""

import fcntl
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from windtunnel.errors import UserError


@contextmanager
def only_one(directory: Path, cpus: Iterable[int]) -> Iterator[None]:
    """Holds both until the end, or until the process is killed. Raises UserError where another daemon is there."""
    path = directory / "lock"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        file = path.open("a+")
    except OSError as error:
        raise UserError(
            f"{error.filename}: {error.strerror}", remedy="set `state` to a directory that can be written"
        ) from None
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
        file.write(f"{os.getpid()}\n")
        file.flush()
        held = [_cpu(cpu) for cpu in cpus]
        try:
            yield
        finally:
            for one in held:
                one.close()


def _cpu(cpu: int) -> socket.socket:
    """An abstract socket: the kernel lets one process have the name, and takes it back with the process."""
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    try:
        claim.bind(f"\0windtunnel-share-cpu{cpu}")
    except OSError:
        claim.close()
        raise UserError(
            f"another daemon shares CPU {cpu}", remedy="set `cpus` to CPUs that no other daemon shares"
        ) from None
    return claim
