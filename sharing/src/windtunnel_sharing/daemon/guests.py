"""The vCPU threads of a QEMU guest, which share a core like any other thread, by QMP (query-cpus-fast).

The socket lies where its tenant may put anything: it has to be of the tenant's user, and so has who listens there.

A guest that was started with `-name NAME,debug-threads=on` (libvirt does) needs no QMP: `threads = "CPU */*"` finds them by their names.
"""

import json
import socket
import time
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from windtunnel.api.errors import UserError
from windtunnel.api.host import places
from windtunnel_sharing.daemon import tenant_file
from windtunnel_sharing.daemon.tenant_file import user_name

PATIENCE_S = 0.25
"""For all of it, however often something arrives: the daemon waits meanwhile. QEMU responds in milliseconds."""
MOST_LINE_BYTES = 1 << 20
MOST_EVENTS = 1000
MOST_WORDS = 200
"""Characters of an error, whose text may be the peer's."""


def vcpus(name: str, path: Path, user: int) -> dict[int, int]:
    """Thread by vCPU, over a QMP socket of the tenant `name`, whose user is `user`. Raises UserError where there is no QMP server, where another
    user listens, to whom nothing is said, and as `tenant_file.opened_socket`."""
    try:
        with tenant_file.opened_socket(name, path, user) as opened, socket.socket(socket.AF_UNIX) as connection:
            lines = _Lines(connection, time.monotonic() + PATIENCE_S)
            connection.connect(f"/proc/self/fd/{opened}")
            _, listens = places.peer(connection)
            if listens != user:
                words = f"{name}: at {path} user {user_name(listens)} listens, not {user_name(user)}"
                raise UserError(words, remedy="the socket of a QEMU that was started by the tenant's user")
            lines.read()  # QMP opens with a line of its own
            for command in ("qmp_capabilities", "query-cpus-fast"):
                connection.sendall(json.dumps({"execute": command}).encode() + b"\n")
                response = _response(lines)
            return {int(cpu["cpu-index"]): int(cpu["thread-id"]) for cpu in response}
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise UserError(
            f"{path}: no QMP server: {str(error)[:MOST_WORDS]}",
            remedy="qemu-system-x86_64 -qmp unix:PATH,server=on,wait=off",
        ) from None


class _Lines:
    """What a peer sends, line by line, until a deadline."""

    def __init__(self, connection: socket.socket, deadline: float):
        self._connection, self._deadline = connection, deadline
        self._rest = b""
        self._limit()

    def read(self) -> dict[str, Any]:
        while b"\n" not in self._rest:
            self._limit()
            part = self._connection.recv(MOST_LINE_BYTES)
            if not part:
                raise ValueError("a line without an end" if self._rest else "connection closed")
            self._rest += part
            if len(self._rest) > MOST_LINE_BYTES:
                raise ValueError("a line without an end")
        line, _, self._rest = self._rest.partition(b"\n")
        found = from_json(line)
        if not isinstance(found, dict):
            raise ValueError("a line that is not an object")  # noqa: TRY004 - as any other line that is not QMP's
        return found

    def _limit(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._connection.settimeout(left)


def _response(lines: _Lines) -> Any:
    """The return value of a command, which may be any JSON. Events before it are skipped, a bounded number of them."""
    for _ in range(MOST_EVENTS):
        line = lines.read()
        if "error" in line:
            raise ValueError(line["error"]["desc"])
        if "return" in line:
            return line["return"]
    raise ValueError("only events, no response")
