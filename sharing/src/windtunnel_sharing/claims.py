"""Claims of CPUs: one daemon, probe or figure shares a CPU at a time, and what it has changed is restored before the next one.

A claim is a lock on a file, which the kernel takes back with the last process that has it open: the claimer, or its guardian. The file
keeps the paths of journals, so that whoever claims the CPU next finds what a killed claimer, whose guardian was killed too, has left in
a directory of its own.
"""

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from windtunnel.api.errors import UserError, cannot_write
from windtunnel.api.files import own_directory, own_lock

RESTORING_S = 2.0
"""A guardian needs milliseconds."""
MOST_BYTES = 1 << 20
SPACE = "free some space there"


@contextlib.contextmanager
def claimed(cpus: Iterable[int], journal: Path) -> Iterator[list[int]]:
    """Claims CPUs until the end, or until this process and its guardian are gone. `journal`: where will be recorded what is changed. Yields the
    descriptors, for the guardian: who starts while another one's threads are still restored would take what it finds for how they were.

    Raises UserError where another process has claimed one, and where a claim cannot be written.
    """
    held: list[int] = []
    try:
        held += (_claim(cpu, journal.absolute()) for cpu in cpus)
        yield held
    finally:
        for claim in held:
            os.close(claim)


def journals(directory: Path) -> set[Path]:
    """The journals that the claims in a directory of ours name."""
    found: set[Path] = set()
    for file in directory.glob("cpu*.lock"):
        with contextlib.suppress(FileNotFoundError):
            found |= _named(own_directory.read(file, MOST_BYTES))
    return found


def _named(content: bytes) -> set[Path]:
    """A kill in the middle of a line leaves a last one without its end, which is not one yet."""
    *lines, _ = content.split(b"\n")
    return {path for path in (Path(os.fsdecode(line)) for line in lines) if path.is_absolute()}


def _claim(cpu: int, journal: Path) -> int:
    """A descriptor that claims a CPU. The file is in a directory that no other user writes: anybody may bind an abstract socket, and so could
    keep the daemon from starting."""
    directory = own_directory.of_runtime()
    own_directory.make(directory)
    path = directory / f"cpu{cpu}.lock"
    try:
        claim = own_lock.open_own(path)
    except OSError as error:
        raise cannot_write(path, error, SPACE) from None
    try:
        _lock(claim, cpu)
        _name(claim, journal)
    except OSError as error:
        os.close(claim)
        raise cannot_write(path, error, SPACE) from None
    except UserError:
        os.close(claim)
        raise
    return claim


def _lock(claim: int, cpu: int) -> None:
    try:
        own_lock.take(claim, RESTORING_S)
    except BlockingIOError:
        raise UserError(
            f"another daemon shares CPU {cpu}, or a probe or a figure, or a guardian still restores its tenants",
            remedy="choose CPUs that no other process shares: `cpus` of the daemon's file, or --cpu",
        ) from None


def _name(claim: int, journal: Path) -> None:
    """Adds a journal to those that the file names; those that are not there any more are forgotten. Raises OSError."""
    named = _named(os.pread(claim, MOST_BYTES, 0))
    if not any(os.path.lexists(path) for path in named):
        os.ftruncate(claim, 0)
        named = set()
    if journal not in named:
        text = b"\n" * bool(os.fstat(claim).st_size) + os.fsencode(journal) + b"\n"
        if os.write(claim, text) < len(text):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
