"""QEMU's monitor: what is said to it, it does to the running guest."""

import socket
import time
from pathlib import Path
from typing import Self

PROMPT = b"(qemu) "


class Monitor:
    """A connection to a monitor's socket, which QEMU makes when it starts. The monitor has one at a time."""

    def __init__(self, path: Path):
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX)

    def __enter__(self) -> Self:
        while not self._path.exists():
            time.sleep(0.05)
        self._socket.settimeout(60)
        self._socket.connect(str(self._path))
        self._prompted()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def say(self, words: str) -> str:
        """Returns once it is done, with what the monitor prints."""
        self._socket.sendall(words.encode() + b"\n")
        return self._prompted()

    def _prompted(self) -> str:
        said = b""
        while not said.endswith(PROMPT):
            if not (more := self._socket.recv(4096)):
                raise EOFError(f"the monitor has gone after {said!r}")
            said += more
        return said.decode(errors="replace")
