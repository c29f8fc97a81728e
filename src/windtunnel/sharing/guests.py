"""The vCPU threads of a QEMU guest, which share a core like any other thread: by their names in /proc, or asked of QEMU itself.

QEMU names its threads when it was started with `-name NAME,debug-threads=on` (libvirt does): "CPU 0/KVM", "CPU 0/TCG"; one TCG
thread for all vCPUs is "ALL CPUs/TCG". QMP tells them always (query-cpus-fast).
"""

import json
import re
import socket
from pathlib import Path
from typing import Any

from windtunnel.errors import UserError
from windtunnel.sharing.tenants import find_threads

NAMED = re.compile(r"CPU (\d+)/(?:KVM|TCG)|ALL CPUs/TCG")
PATIENCE_S = 5.0
MOST_LINE_BYTES = 1 << 20


def vcpus(pid: int) -> dict[int, int]:
    """Thread by vCPU, of a process; one that all share is 0's. Raises UserError where no thread is named so."""
    names = find_threads.threads(pid)
    found = {int(match[1] or 0): tid for tid, name in names.items() if (match := NAMED.fullmatch(name))}
    if not found:
        raise UserError(
            f"process {pid} ({names.get(pid)}) has no thread that is named as a vCPU",
            remedy="start QEMU with -name NAME,debug-threads=on, or name its QMP socket",
        )
    return dict(sorted(found.items()))


def vcpus_by_qmp(path: Path) -> dict[int, int]:
    """Thread by vCPU, asked over a QMP socket. Raises UserError where nobody answers as QEMU does."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE_S)
            connection.connect(str(path))
            with connection.makefile("rwb") as lines:
                _read(lines)  # the greeting
                for command in ("qmp_capabilities", "query-cpus-fast"):
                    lines.write(json.dumps({"execute": command}).encode() + b"\n")
                    lines.flush()
                    response = _response(lines)
                return {int(cpu["cpu-index"]): int(cpu["thread-id"]) for cpu in response}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path}: no QMP server answers: {error}", remedy="qemu-system-x86_64 -qmp unix:PATH,server=on,wait=off"
        ) from None


def _response(lines):
    """What a command returned; events in between are passed over, a bounded number of them."""
    for _ in range(1000):
        line = _read(lines)
        if "error" in line:
            raise ValueError(line["error"]["desc"])
        if "return" in line:
            return line["return"]
    raise ValueError("it tells only events")


def _read(lines) -> dict[str, Any]:
    text = lines.readline(MOST_LINE_BYTES)
    if not text.endswith(b"\n"):
        raise ValueError("it has hung up" if not text else "a line that does not end")
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("a line that is no object")  # noqa: TRY004 - as any other line that is not QMP's
    return found
