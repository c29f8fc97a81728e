"""A program that ends with this process: started under `windtunnel-keeper`, which ends it when our end of a pipe closes.

So it ends with its context, with an exception, and with kill -9 of this process, and so do its child processes.
"""

import contextlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from windtunnel.api.errors import UserError
from windtunnel_sharing.native import find_native

ROOM = "sharing/studies/pvcc/native"
"""Of the build: where the programs are that only figures start."""
PATIENCE_S = 5.0
_TAIL_BYTES = 2000


class Kept:
    """A running program, and its output. Raises UserError where it cannot be started."""

    def __init__(
        self, command: Sequence[str | Path], *, log: Path, cpu: int | None = None, env: Mapping[str, str] | None = None
    ):
        """`log` takes its stderr, and its stdout unless somebody reads `out`. `cpu`: where it runs."""
        self.log = log
        self._name = Path(command[0]).name
        watch_read, watch_write = os.pipe()
        self._watch: int | None = watch_write
        pid_read, pid_write = os.pipe()
        keeper = [
            str(find_native("windtunnel-keeper", ROOM)),
            str(watch_read),
            str(pid_write),
            str(-1 if cpu is None else cpu),
        ]
        try:
            with log.open("ab") as errors:
                self._process = subprocess.Popen(
                    [*keeper, *map(str, command)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    pass_fds=(watch_read, pid_write),
                    env={**os.environ, **(env or {})},
                    start_new_session=True,
                )
        finally:
            os.close(watch_read)
            os.close(pid_write)
        with os.fdopen(pid_read) as told:
            line = told.readline()
        if not line:
            self.stop()
            raise UserError(f"{command[0]} cannot be started: {self.tail()}")
        self.pid = int(line)
        assert self._process.stdout is not None  # PIPE
        self.out = self._process.stdout

    def runs_first(self) -> None:
        """Gives it the least nice value, if that is permitted: a client's neighbour on its core would be in every latency."""
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, self.pid, -20)

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def wait(self, timeout_s: float) -> tuple[int, bytes]:
        """Its exit code (128 + N after signal N) and what it wrote to stdout. Raises UserError where it does not end in time."""
        try:
            out, _ = self._process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self.stop()
            raise UserError(f"{self._name} did not end within {timeout_s:g} s: {self.tail()}") from None
        return self._process.returncode, out

    def tail(self) -> str:
        """The end of its stderr."""
        return self.log.read_bytes()[-_TAIL_BYTES:].decode(errors="backslashreplace").strip() or "no message on stderr"

    def stop(self) -> bytes:
        """Ends it: SIGTERM, then SIGKILL. Returns its unread output."""
        if self._watch is not None:
            os.close(self._watch)
            self._watch = None
        try:
            out, _ = self._process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:  # the program goes with its keeper
            self._process.kill()
            out, _ = self._process.communicate()
        return out or b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
