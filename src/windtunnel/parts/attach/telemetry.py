"""Windows of an application by its own telemetry alone: nothing is loaded into it. That has rates and losses of ports, and no burst, no empty
call, no time and no thread.

The socket's name comes from the application's own open files, so it may lead anywhere: it has to be of the application's user, no link, and that
application has to listen there. What it says is bounded as what the probe's page says.

Source: DPDK, doc/guides/howto/telemetry.rst: a SEQPACKET socket, a message a command, a message of JSON an answer.
"""

import json
import os
import re
import socket
import stat
import time
from pathlib import Path
from typing import Any, Self

from windtunnel.engine.walked import walk
from windtunnel.errors import UserError
from windtunnel.live.places import peer
from windtunnel.parts.attach.lines import PhaseLine, PortLine, WindowLine
from windtunnel.parts.attach.page import PORTS, STATISTICS
from windtunnel.parts.attach.processes import Application, user_of

SOCKET = "dpdk_telemetry.v2"
PATIENCE_S = 2.0
"""For the answers of one reading together: DPDK takes some ms for them."""
MOST_BYTES = 1 << 20
RELEASE = re.compile(r"DPDK (\d\d\.\d\d[0-9a-z.-]{0,30})", re.ASCII)
TICKS_PER_SECOND = 1e9
"""Its windows count in ns."""
NOTHING = PhaseLine(phases=0, ticks=0, rx_packets=0, tx_packets=0)


class Telemetry:
    """The telemetry of one application. It is a context manager. Raises UserError, at any call, if the application does not answer as DPDK does."""

    def __init__(self, application: Application):
        self._name = application.name
        if application.runtime is None:
            raise self._refusal("it has no runtime directory", "start it without --no-telemetry and --in-memory")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._deadline = time.monotonic() + PATIENCE_S
        try:
            self._connect(application.pid, Path(application.runtime) / SOCKET)
            self._receive()  # its greeting
        except OSError as error:
            self._socket.close()
            raise self._refusal(f"its telemetry does not answer: {error}", "start it without --no-telemetry") from None
        except UserError:
            self._socket.close()
            raise
        self._begin = time.monotonic_ns()
        self._index = 0
        self._before = self._reading()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def _connect(self, pid: int, path: Path) -> None:
        """Connects to the socket of this process, and to no other one. Raises OSError, and UserError."""
        passed: list[os.stat_result] = []
        place = walk(path, passed)
        try:
            if not stat.S_ISSOCK(passed[-1].st_mode) or passed[-1].st_uid != user_of(pid):
                raise self._refusal(f"{path} is no socket of its user", "observe it with the probe")
            self._socket.settimeout(PATIENCE_S)
            self._socket.connect(f"/proc/self/fd/{place}")
        finally:
            os.close(place)
        if (listener := peer(self._socket)[0]) != pid:
            raise self._refusal(f"process {listener} listens at {path}, and not process {pid}", f"observe {listener}")

    @property
    def tsc_hz(self) -> float:
        return TICKS_PER_SECOND

    def release(self) -> str | None:
        """DPDK's release, as "22.11.11"; None if it does not say."""
        self._deadline = time.monotonic() + PATIENCE_S
        response = self._ask("/info")
        version = response.get("version") if isinstance(response, dict) else None
        match = RELEASE.fullmatch(version) if isinstance(version, str) else None
        return match and match[1]

    def window(self) -> WindowLine:
        """What its ports moved since the last one. Raises ProcessLookupError if the application has ended."""
        (before_ns, before), (now_ns, now) = self._before, self._reading()
        self._before = now_ns, now
        line = WindowLine(
            index=self._index,
            start_ns=before_ns - self._begin,
            end_ns=now_ns - self._begin,
            present_ticks=0,
            channels=[],
            ports=[_port(number, before.get(number), counters, now_ns - before_ns) for number, counters in now.items()],
            threads=[],
        )
        self._index += 1
        return line

    def _reading(self) -> tuple[int, dict[int, dict[str, int]]]:
        self._deadline = time.monotonic() + PATIENCE_S
        ports = self._ask("/ethdev/list")
        if not isinstance(ports, list) or not all(type(port) is int and 0 <= port < PORTS for port in ports):
            raise self._refusal(f"its telemetry lists no ports from 0 to {PORTS - 1}", "see dpdk-telemetry.py")
        counters = {port: _counters(self._ask(f"/ethdev/stats,{port}")) for port in dict.fromkeys(ports)}
        return time.monotonic_ns(), counters

    def _ask(self, command: str) -> Any:
        try:
            self._socket.send(command.encode())
            response = self._receive()
        except TimeoutError:
            raise self._refusal("its telemetry does not answer", "see whether it is stopped") from None
        except OSError:
            raise ProcessLookupError(self._name) from None
        if not response:
            raise ProcessLookupError(self._name)
        try:
            return json.loads(response)[command.partition(",")[0]]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self._refusal(
                f"its telemetry answers {command} otherwise than DPDK", "see dpdk-telemetry.py"
            ) from None

    def _receive(self) -> bytes:
        """A message, within what is left of the reading. Raises OSError."""
        self._socket.settimeout(max(self._deadline - time.monotonic(), 1e-3))
        return self._socket.recv(MOST_BYTES)

    def _refusal(self, why: str, remedy: str) -> UserError:
        return UserError(f"{self._name}: {why}", remedy=remedy)


def _counters(response: Any) -> dict[str, int]:
    """The counters that are known, and those alone."""
    values = response if isinstance(response, dict) else {}
    return {name: value for name in STATISTICS if type(value := values.get(name)) is int and 0 <= value < 1 << 64}


def _port(number: int, before: dict[str, int] | None, now: dict[str, int], length_ns: int) -> PortLine:
    """Counters that are smaller than before were set back, and are not known in this window."""
    known = before is not None and all(now.get(name, 0) >= before.get(name, 0) for name in STATISTICS)
    grown = {
        name: now[name] - before[name] if known and before and name in now and name in before else None
        for name in STATISTICS
    }
    return PortLine(port=number, ticks=length_ns if known else 0, present=NOTHING, absent=NOTHING, **grown)
