"""A tool that runs below its guard (guard.py): started with a file for its output, stopped, and waited for."""

import os
import select
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

GUARD = Path(__file__).with_name("guard.py")
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "PCM_NO_RDT": "1"}
"""In every locale numbers have a decimal point then. PCM takes no monitoring ids of resctrl, which others may use."""
LONGEST_END_S = 10.0
"""After the guard was told: more than its patience."""
_MOST_ERRORS, _MOST_ERROR = 1 << 20, 300
"""Bytes of stderr, and characters of its last line."""


class GuardedTool:
    """A tool on some CPUs. Ends with `stop`, or if this process ends, however it ends."""

    def __init__(self, command: Sequence[str], cpus: Iterable[int], output: int):
        """`command`: an absolute path and its arguments. Raises OSError."""
        self._errors = os.memfd_create("errors")
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(GUARD), ",".join(map(str, cpus)), *command],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=self._errors,
            env=ENVIRONMENT,
            cwd="/",  # PCM takes its tables of registers from the working directory, if somebody has put them there
            process_group=0,  # Ctrl-C reaches only us, who stop it in order
        )
        self._pid_fd = os.pidfd_open(self._process.pid)

    def wait(self, seconds: float, stop_fd: int) -> None:
        """Until it has ended, these seconds have passed, or `stop_fd` is readable."""
        select.select([self._pid_fd, stop_fd], [], [], seconds)

    def stop(self) -> tuple[int, str]:
        """Ends it, if it has not ended: its exit code, and the last line of what it wrote on stderr."""
        assert self._process.stdin is not None  # a pipe was asked for
        self._process.stdin.close()
        if not select.select([self._pid_fd], [], [], LONGEST_END_S)[0]:
            self._process.kill()
        code = self._process.wait()
        os.close(self._pid_fd)
        lines = os.pread(self._errors, _MOST_ERRORS, 0).decode(errors="replace").split("\n")
        os.close(self._errors)
        return code, next((line.strip()[:_MOST_ERROR] for line in reversed(lines) if line.strip()), "")
