"""A client of others: what it can ask, how it is started, and what was read of its output."""

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pvcc.kept_process import Kept
from pvcc.servers import ADDRESS, PATIENCE_S, Content, Kind
from windtunnel.api.errors import UserError

CONNECTIONS = 8
_GRACE_S = 60.0


@dataclass(frozen=True)
class Load:
    """What is asked of a server on loopback."""

    kind: Kind
    port: int
    content: Content
    seconds: int
    rate: int | None
    """Requests a second of all connections; None: the next request follows the response."""

    @property
    def place(self) -> str:
        return f"{ADDRESS}:{self.port}"


@dataclass(frozen=True)
class Reading:
    """What a client said of its requests."""

    responses_per_s: float
    """Those without an error."""
    p50_ns: int | None
    """None: it has none."""
    p99_ns: int


@dataclass(frozen=True)
class OtherClient:
    name: str
    """Of its program, too."""
    source: str
    """What installs it."""
    version: str
    """The option that prints it."""
    kinds: tuple[Kind, ...]
    """The servers that it can ask."""
    paced: bool
    """Whether it can be told a rate."""
    intended: bool
    """Whether its latency is from the intended send time, and not from the real one."""
    fill: Callable[[Load], list[str]] | None
    """The arguments with which it stores the values that it asks for; None: they are there."""
    ask: Callable[[Load], list[str]]
    read: Callable[[str], Reading | None]
    """None: the text is not one of its reports."""

    def find(self) -> str:
        """Its program. Raises UserError with what installs it."""
        program = shutil.which(self.name)
        if program is None:
            raise UserError(f"no {self.name} on this system", remedy=self.source)
        return program

    def version_of(self) -> str:
        """As the program says it: "4.1.0-3"."""
        done = subprocess.run(
            [self.find(), self.version], capture_output=True, text=True, check=False, timeout=PATIENCE_S
        )
        number = re.search(r"\d+(\.\d+)+\S*", done.stdout + done.stderr)
        return number[0] if number else "of a version that it does not print"


class Asking:
    """The client, running on its CPU. Leave its context and it is gone. Raises UserError if it cannot be started, or ends with an error."""

    def __init__(self, client: OtherClient, load: Load, directory: Path, cpu: int):
        """Before it asks, it has stored the values. The log lies in `directory`."""
        self.client, self.load = client, load
        log, program = directory / "client.log", client.find()
        if client.fill is not None:
            with Kept([program, *client.fill(load)], log=log, cpu=cpu) as filling:
                filling.runs_first()
                _ended(client, filling)
        self._kept = Kept([program, *client.ask(load)], log=log, cpu=cpu)
        self._kept.runs_first()

    def result(self) -> Reading:
        """Waits for its end."""
        text = _ended(self.client, self._kept, self.load.seconds)
        reading = self.client.read(text)
        if reading is None:
            printed = text.strip()[-300:] or "nothing"
            raise UserError(
                f"{self.client.name} {self.client.version_of()} printed what is not known as its report: {printed}",
                remedy="the tests have reports of the versions that are known: sharing/tests/support/data/clients",
            )
        return reading

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._kept.stop()


def _ended(client: OtherClient, kept: Kept, seconds: int = 0) -> str:
    code, out = kept.wait(seconds + _GRACE_S)
    if code != 0:
        raise UserError(
            f"{client.name} ended with {code}: {out.decode(errors='replace')[-300:].strip() or kept.tail()}"
        )
    return out.decode(errors="replace")


def nanoseconds(text: str, unit: str) -> int:
    """Of a printed duration."""
    return round(float(text) * _NANOSECONDS[unit])


_NANOSECONDS = {"us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9}


def whole_rates(rate: int) -> int:
    """The most connections, up to `CONNECTIONS`, of which each has a whole number of requests a second."""
    return next(count for count in range(CONNECTIONS, 0, -1) if rate % count == 0)
