"""The native programs that do what needs microseconds: found next to the engine, driven by JSON lines over pipes."""

import contextlib
import fcntl
import json
import queue
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from windtunnel.api.errors import UserError, signal_name
from windtunnel.api.runs import NAME, check_beside, find_engine, runnable
from windtunnel_sharing import threads

SLICER, TENANT = "windtunnel-slicer", "windtunnel-tenant"
PATIENCE_S = 20.0
"""For a response: it takes microseconds, but the core may be shared."""
REFUSED = 2
"""Exit code of a program that has said why in its last line."""
PIPE_BYTES = 1 << 20
"""A command of any length fits: who sends one to a program that is stopped does not wait."""


def _refusal(line: dict[str, Any]) -> UserError | None:
    """What an error line says; None for another one."""
    if line["type"] != "error":
        return None
    words, remedy = line["message"], line["remedy"] or None
    return ThreadRefused(line["tid"], words, remedy) if "tid" in line else UserError(words, remedy)


class ThreadRefused(UserError):
    """A program ended because one thread cannot be changed."""

    def __init__(self, tid: int, message: str, remedy: str | None = None):
        super().__init__(message, remedy)
        self.tid = tid


class Silent(UserError):
    """A program sent no line in time."""


def find_native(name: str, room: str = "sharing/slicers") -> Path:
    """In this room of the build, next to the engine itself (installed), or on PATH. Raises UserError, also for one that may be of another user
    than the engine."""
    try:
        engine = find_engine()
    except UserError:
        pass  # it may be installed without an engine
    else:
        for path in filter(runnable, beside(engine, name, room)):
            check_beside(path, engine)
            return path
    installed = shutil.which(name)
    if installed:
        return Path(installed).absolute()
    raise UserError(
        f"{name} not found next to {NAME} or on PATH", remedy="ninja -C build in a source checkout builds it"
    )


def beside(engine: Path, name: str, room: str = "sharing/slicers") -> list[Path]:
    """Where a program is looked for before PATH, there or not."""
    return [engine.parent.parent / room / name, engine.parent / name]


class Native:
    """A running program: one line in, one line out. It ends when its stdin does, so that it never outlives us.

    `at_end` is called, on a thread of its own, with how or why, when it ends without having been asked to.
    """

    def __init__(self, name: str, first: dict[str, Any], at_end: Callable[[UserError], None] | None = None):
        self.name = name
        self._at_end = at_end
        self._closing = False
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        try:
            # A group of its own, which Ctrl-C does not reach; not a session, which would be an autogroup of its own.
            self._process = subprocess.Popen(
                [find_native(name)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0
            )
        except OSError as error:
            raise UserError(f"{name} cannot be started: {error.strerror}") from error
        self.pid = self._process.pid
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # beyond what one user may have of pipes
            fcntl.fcntl(self._process.stdin, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._reader = threading.Thread(target=self._read, name=f"reads {name}", daemon=True)
        threads.start(self._reader)
        self.send(first)

    def _read(self) -> None:
        assert self._process.stdout is not None
        line = b""
        for line in self._process.stdout:  # no more than that: a tenant's window waits until it is read
            self._lines.put(line)
        code = self._process.wait()
        if not self._closing and self._at_end is not None:
            said = None
            if code == REFUSED:
                with contextlib.suppress(ValueError):  # half a line
                    said = _refusal(json.loads(line))
            self._at_end(said or UserError(signal_name(code) or f"exit code {code}"))
        self._lines.put(None)

    def send(self, command: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            self._process.stdin.flush()

    def next(self, patience_s: float = PATIENCE_S) -> dict[str, Any] | None:
        """Its next line; None at its end. Raises UserError for an error line, and Silent where none comes in time."""
        for _ in range(2):  # in halves: after a pause of the whole machine the line is a moment away
            with contextlib.suppress(queue.Empty):
                text = self._lines.get(timeout=patience_s / 2)
                break
        else:
            raise Silent(f"{self.name} sent no line for {patience_s:g} s")
        line: dict[str, Any] | None = None if text is None else json.loads(text)
        if line is not None and (said := _refusal(line)):
            raise said
        return line

    def ask(self, command: dict[str, Any], patience_s: float = PATIENCE_S) -> dict[str, Any]:
        """Raises UserError where it has ended, and Silent."""
        self.send(command)
        return self.response(patience_s)

    def response(self, patience_s: float = PATIENCE_S) -> dict[str, Any]:
        line = self.next(patience_s)
        if line is None:
            raise UserError(f"{self.name} has ended: {signal_name(self._process.wait()) or 'without a message'}")
        return line

    def close_input(self) -> None:
        """Asks it to end."""
        self._closing = True
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def close(self, patience_s: float = PATIENCE_S) -> None:
        """Ends it and waits. It is killed when it does not end by itself."""
        self.close_input()
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()
