"""Windows of an application by its own telemetry alone: nothing is loaded into it. That has rates and losses of ports, and no burst, no empty
call, no time and no thread.

Source: DPDK, doc/guides/howto/telemetry.rst: a SEQPACKET socket, a message a command, a message of JSON an answer.
"""

import json
import socket
import time
from pathlib import Path
from typing import Any, Self

from windtunnel.errors import UserError
from windtunnel.parts.attach.lines import PhaseLine, PortLine, WindowLine
from windtunnel.parts.attach.page import STATISTICS
from windtunnel.parts.attach.processes import Application

SOCKET = "dpdk_telemetry.v2"
PATIENCE_S = 2.0
MOST_BYTES = 1 << 20
MOST_PORTS = 1024
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
        self._socket.settimeout(PATIENCE_S)
        try:
            self._socket.connect(str(Path(application.runtime) / SOCKET))
            self._socket.recv(MOST_BYTES)  # its greeting
        except OSError as error:
            self._socket.close()
            raise self._refusal(f"its telemetry does not answer: {error}", "start it without --no-telemetry") from None
        self._begin = time.monotonic_ns()
        self._index = 0
        self._before = self._reading()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    @property
    def tsc_hz(self) -> float:
        return TICKS_PER_SECOND

    def release(self) -> str | None:
        """DPDK's release, as "22.11.11"; None if it does not say."""
        version = self._ask("/info").get("version")
        return version.removeprefix("DPDK ") if isinstance(version, str) else None

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
        ports = self._ask("/ethdev/list")
        if not isinstance(ports, list) or len(ports) > MOST_PORTS or not all(type(port) is int for port in ports):
            raise self._refusal("its telemetry lists no ports", "see dpdk-telemetry.py")
        counters = {port: _counters(self._ask(f"/ethdev/stats,{port}")) for port in ports}
        return time.monotonic_ns(), counters

    def _ask(self, command: str) -> Any:
        try:
            self._socket.send(command.encode())
            response = self._socket.recv(MOST_BYTES)
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

    def _refusal(self, why: str, remedy: str) -> UserError:
        return UserError(f"{self._name}: {why}", remedy=remedy)


def _counters(response: Any) -> dict[str, int]:
    """The counters that are known, and those alone."""
    values = response if isinstance(response, dict) else {}
    return {name: value for name in STATISTICS if type(value := values.get(name)) is int and value >= 0}


def _port(number: int, before: dict[str, int] | None, now: dict[str, int], length_ns: int) -> PortLine:
    """Counters that are smaller than before were set back, and are not known in this window."""
    known = before is not None and all(now.get(name, 0) >= before.get(name, 0) for name in STATISTICS)
    grown = {
        name: now[name] - before[name] if known and before and name in now and name in before else None
        for name in STATISTICS
    }
    return PortLine(port=number, ticks=length_ns if known else 0, present=NOTHING, absent=NOTHING, **grown)
