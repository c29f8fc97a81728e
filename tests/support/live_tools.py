"""What the tests of announcements share: a reader of one, and a runtime directory of the test's own."""

import json
import socket
import time
from pathlib import Path
from typing import Any, Self


class LiveReader:
    """Reads the lines of one announcement. Context manager."""

    def __init__(self, path: Path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(str(path))
        self._file = self.socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self.socket.close()

    def line(self) -> dict[str, Any] | None:
        """The next one; None at the end."""
        text = self._file.readline()
        return json.loads(text) if text else None

    def until(self, key: str) -> dict[str, Any]:
        """The next line that has this key."""
        while (line := self.line()) is not None:
            if key in line:
                return line
        raise AssertionError(f"no line with {key}")


def awaited(found, seconds: float = 20.0):
    """What `found` returns as soon as it is true."""
    end = time.monotonic() + seconds
    while not (result := found()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)
    return result


def free_port(host: str = "127.0.0.1") -> int:
    """A TCP port that nobody has at the moment."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
