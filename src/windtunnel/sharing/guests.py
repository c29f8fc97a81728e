"""The vCPU threads of a QEMU guest, which share a core like any other thread: by their names in /proc, or by QMP.

QEMU names its threads when it was started with `-name NAME,debug-threads=on` (libvirt does): "CPU 0/KVM", "CPU 0/TCG"; one TCG
thread for all vCPUs is "ALL CPUs/TCG". QMP always tells them (query-cpus-fast).
"""

import json
import re
import socket
from io import BufferedRWPair
from pathlib import Path
from typing import Any

from windtunnel.errors import UserError
from windtunnel.sharing.tenants import find_threads

NAMED = re.compile(r"CPU (\d+)/(?:KVM|TCG)|ALL CPUs/TCG")
PATIENCE_S = 5.0
MOST_LINE_BYTES = 1 << 20


def vcpus(pid: int) -> dict[int, int]:
    """Thread by vCPU, of a process; a thread that all share counts as that of vCPU 0. Raises UserError where no thread has such a name."""
    names = find_threads.threads(pid)
    found = {int(match[1] or 0): tid for tid, name in names.items() if (match := NAMED.fullmatch(name))}
    if not found:
        raise UserError(
            f"process {pid} ({names.get(pid)}) has no thread with the name of a vCPU",
            remedy="start QEMU with -name NAME,debug-threads=on, or name its QMP socket",
        )
    return dict(sorted(found.items()))


def vcpus_by_qmp(path: Path) -> dict[int, int]:
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
