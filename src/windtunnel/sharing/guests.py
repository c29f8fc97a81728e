"""The vCPU threads of a QEMU guest, which share a core like any other thread, by QMP (query-cpus-fast).

A guest that was started with `-name NAME,debug-threads=on` (libvirt does) needs no QMP: `threads = "CPU */*"` finds them by their names.
"""

import json
import socket
from io import BufferedRWPair
from pathlib import Path
from typing import Any

from windtunnel.errors import UserError

PATIENCE_S = 1.0
"""The daemon waits meanwhile."""
MOST_LINE_BYTES = 1 << 20


def vcpus(path: Path) -> dict[int, int]:
    """Thread by vCPU, over a QMP socket. Raises UserError where there is no QMP server."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE_S)
            connection.connect(str(path))
            with connection.makefile("rwb") as lines:
                _read(lines)  # QMP opens with a line of its own
                for command in ("qmp_capabilities", "query-cpus-fast"):
                    lines.write(json.dumps({"execute": command}).encode() + b"\n")
                    lines.flush()
                    response = _response(lines)
                return {int(cpu["cpu-index"]): int(cpu["thread-id"]) for cpu in response}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path}: no QMP server: {error}", remedy="qemu-system-x86_64 -qmp unix:PATH,server=on,wait=off"
        ) from None


def _response(lines: BufferedRWPair) -> Any:
    """The return value of a command, which may be any JSON. Events before it are skipped, a bounded number of them."""
    for _ in range(1000):
        line = _read(lines)
        if "error" in line:
            raise ValueError(line["error"]["desc"])
        if "return" in line:
            return line["return"]
    raise ValueError("only events, no response")


def _read(lines: BufferedRWPair) -> dict[str, Any]:
    text = lines.readline(MOST_LINE_BYTES)
    if not text.endswith(b"\n"):
        raise ValueError("connection closed" if not text else "a line without an end")
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("a line that is not an object")  # noqa: TRY004 - as any other line that is not QMP's
    return found
