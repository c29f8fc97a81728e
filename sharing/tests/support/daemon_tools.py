"""A daemon as a process of its own, with a slicer that only pins where nothing else is said: what is tested is the daemon."""

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path

from sharing_tools import CPUS, until

from windtunnel.errors import UserError
from windtunnel_sharing import threads
from windtunnel_sharing.daemon.client import Client

_numbers = count()
STARTER = Path(__file__).with_name("daemon_starter.py")
MARKER, MARK = "WINDTUNNEL_TESTED_BY", uuid.uuid4().hex
HEAD = f"cpus = {CPUS}\nbe_cpus = 0"


def write(directory: Path, tenants: str = "", head: str = HEAD) -> Path:
    """A file with state of its own. `tenants` and `head` are TOML."""
    directory.mkdir(exist_ok=True)
    file = directory / "share.toml"
    file.write_text(f'state = "state"\ncheck = "20ms"\n{head}\n{tenants}')
    return file


def tenant_toml(name: str, pid: int, **keys: object) -> str:
    lines = [f"{key} = {value!r}".replace("'", '"') for key, value in keys.items()]
    return "\n".join(["[[tenant]]", f'name = "{name}"', f"pid = {pid}", *lines, ""])


@cache
def _starter() -> subprocess.Popen:
    """One for all daemons of this process, with which it ends."""
    command = [sys.executable, STARTER]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), MARKER: MARK}
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=environment
    )


def _ask(**request: object) -> int:
    starter = _starter()
    starter.stdin.write(json.dumps(request, default=str) + "\n")
    return int(starter.stdout.readline())


def daemons_and_theirs() -> list[int]:
    """All daemons of this process that live, and all that they and ended ones have started."""
    found = []
    for pid in set(threads.pids()) - {_starter().pid}:
        with suppress(OSError):
            if MARK.encode() in (threads.PROC / str(pid) / "environ").read_bytes():
                found.append(pid)
    return found


class Running:
    """A daemon. What it says comes through a pipe, which no full disk stops."""

    def __init__(self, file: Path, slicer: str = "turns", socket: Path | None = None, **environment: str):
        self.socket = socket or file.parent / "state" / "share.sock"
        output = file.parent / f"output-{next(_numbers)}"
        os.mkfifo(output)
        self._output = os.open(output, os.O_RDONLY | os.O_NONBLOCK)
        self._said = b""
        self.pid = _ask(file=file, slicer=slicer, output=output, environment=environment)
        self._code: int | None = None

    def said(self) -> str:
        """Until now."""
        with suppress(BlockingIOError):
            while some := os.read(self._output, 1 << 16):
                self._said += some
        return self._said.decode()

    def ended(self) -> bool:
        return self._code is not None or threads.started(self.pid) is None

    def wait(self) -> int:
        """Its exit code."""
        if self._code is None:
            until(self.ended, self.said)
            self._code = _ask(ended=self.pid)
        return self._code

    def end(self, number: int = signal.SIGTERM) -> int:
        if not self.ended():
            os.kill(self.pid, number)
        return self.wait()

    def guardians(self) -> list[int]:
        return [
            child
            for child in threads.children()(self.pid)
            if b"windtunnel_sharing.guardian" in (threads.PROC / str(child) / "cmdline").read_bytes().split(b"\0")
        ]

    def kill(self) -> None:
        """Until its guardian has restored everything."""
        guardians = self.guardians()
        self.end(signal.SIGKILL)
        until(lambda: not any(map(threads.stat, guardians)))

    def close(self) -> None:
        """Kills it, where it lives still."""
        self.end(signal.SIGKILL)
        self.said()
        os.close(self._output)

    def client(self) -> Client:
        return Client(self.socket)

    def responds(self) -> bool:
        assert not self.ended(), self.said()
        with suppress(UserError), self.client() as client:
            return client.get("/v1/tenants") is not None
        return False


@contextmanager
def daemon(file: Path, slicer: str = "turns", socket: Path | None = None) -> Iterator[Running]:
    """It responds when this is entered; it is ended at the end, and must end well unless the test has killed it."""
    running = Running(file, slicer, socket)
    try:
        until(running.responds, running.said)
        yield running
        if not running.ended():
            assert running.end() == 0, running.said()
    finally:
        running.close()


def refused(file: Path) -> str:
    """What a daemon says that does not begin."""
    running = Running(file)
    try:
        assert running.wait() == 2, running.said()
        return running.said()
    finally:
        running.close()
