"""What the daemon may do, and what it gives up.

Kept: CAP_SYS_NICE (affinity, nice, slice and policy of others' threads; SCHED_FIFO of a slicer) and CAP_PERFMON (a core's switches, to
measure slices; only where it is there). Cgroups need no capability of whoever owns their directory. Everything else goes,
from the bounding set too, so that no program that is started gets it back.
"""

import ctypes
import os
from dataclasses import dataclass
from pathlib import Path

from windtunnel.api.errors import UserError
from windtunnel.api.host import proc

SYS_NICE, PERFMON = 23, 38
KEPT = {"CAP_SYS_NICE": SYS_NICE, "CAP_PERFMON": PERFMON}
_CAPBSET_DROP, _NO_NEW_PRIVS, _AMBIENT, _AMBIENT_RAISE = 24, 38, 47, 2
"""Of prctl(2)."""
_VERSION_3 = 0x20080522
_CAPSET = {"x86_64": 126, "aarch64": 91, "riscv64": 91}
"""Numbers of the system call (capset(2) has no wrapper in the C library)."""


@dataclass(frozen=True)
class Capabilities:
    """Sets of capabilities as the kernel numbers them, as bits."""

    permitted: int
    effective: int
    bounding: int

    def has(self, number: int) -> bool:
        return bool(self.effective >> number & 1)


def mine(status: Path = Path("/proc/thread-self/status")) -> Capabilities:
    content = proc.text(status)
    return Capabilities(*(int(proc.value(content, name) or "0", 16) for name in ("CapPrm", "CapEff", "CapBnd")))


def check(status: Path = Path("/proc/thread-self/status")) -> None:
    """Raises UserError without CAP_SYS_NICE."""
    if not mine(status).has(SYS_NICE):
        raise UserError(
            "CAP_SYS_NICE is missing: the daemon needs it to change threads of other users, and for slicers",
            remedy="sudo windtunnel share serve FILE, or AmbientCapabilities=CAP_SYS_NICE in a systemd unit",
        )


def drop() -> None:
    """Of this thread, and of whatever it starts from now on: to be called before there are other threads. Raises UserError."""
    libc = ctypes.CDLL(None, use_errno=True)
    held = mine()
    kept = sum(1 << number for number in KEPT.values() if held.permitted >> number & 1)
    for number in range(64):
        if held.bounding >> number & 1 and not kept >> number & 1:
            libc.prctl(_CAPBSET_DROP, number, 0, 0, 0)  # needs CAP_SETPCAP; without it there was little to drop
    _capset(libc, kept)
    if os.geteuid() != 0:  # else they would not outlive an exec
        for number in KEPT.values():
            if kept >> number & 1:
                libc.prctl(_AMBIENT, _AMBIENT_RAISE, number, 0, 0)
    libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)


def _capset(libc: ctypes.CDLL, kept: int) -> None:
    number = _CAPSET.get(os.uname().machine)
    if number is None:
        raise UserError(f"the number of capset is not known for {os.uname().machine}")
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    low, high = kept & 0xFFFFFFFF, kept >> 32
    # effective, permitted, inheritable of the lower 32, then of the upper
    data = (ctypes.c_uint32 * 6)(low, low, low, high, high, high)
    if libc.syscall(ctypes.c_long(number), header, data) != 0:
        raise UserError(f"capabilities cannot be dropped: {os.strerror(ctypes.get_errno())}")
