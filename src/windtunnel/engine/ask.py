"""Calls a program that may start others: a plug-in runs code of its own when it is loaded."""

import contextlib
import os
import resource
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from windtunnel.engine import descendants
from windtunnel.engine.own_directory import for_temporary
from windtunnel.engine.readable import readable

ENDING_S = 2.0
"""For the end of a process that was killed."""


@dataclass(frozen=True)
class Ended:
    code: int
    """Exit code of the process; -N if signal N ended it."""
    output: str
    errors: str


def ask(
    command: Sequence[str],
    timeout_s: float,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
    most_bytes: int | None = None,
    most_memory: int | None = None,
) -> Ended | None:
    """What a program said until it ended; None: it has not ended in time. Whatever it has started is killed with it. Its output is
    a file: on a pipe, one of those could keep the end from coming. `directory`: in which it works, ours if None. `most_bytes`: it may write no
    larger file, its output included. `most_memory`: bytes that it, and each process that it starts, may have. Raises OSError if it cannot be
    started."""
    place = for_temporary()
    with tempfile.TemporaryFile(dir=place) as output, tempfile.TemporaryFile(dir=place) as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            process_group=0,
            env=environment,
            cwd=directory,
        )
        with _whole_group(process) as pid_fd:
            for limit, most in ((resource.RLIMIT_FSIZE, most_bytes), (resource.RLIMIT_DATA, most_memory)):
                if most is not None:
                    resource.prlimit(process.pid, limit, (most, most))
            ended = readable(pid_fd, seconds=timeout_s)
        if not ended:
            return None
        return Ended(process.returncode, *(_text_of(file) for file in (output, errors)))


@contextlib.contextmanager
def _whole_group(process: "subprocess.Popen[bytes]") -> Iterator[int]:
    """A descriptor that is readable once the process has ended; the group, and whatever is below it, ends with the block."""
    pid_fd = os.pidfd_open(process.pid)
    try:
        yield pid_fd
    finally:
        # before its status is taken: until then the group's number is its own
        descendants.kill(process.pid)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            # it may wait in the kernel, as for a file system that another user serves, and cannot end until that responds
            process.wait(ENDING_S)
        os.close(pid_fd)


def _text_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
