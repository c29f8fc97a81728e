"""Hardware counters: opened and read for real, because a VM may list them and count nothing."""

import ctypes
import errno
import os
import platform
import struct

from windtunnel.host.read import Probe

PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
EVENTS = {"cycles": 0, "instructions": 1, "cache-misses": 3}  # PERF_COUNT_HW_*
NEVER_ZERO = ("cycles", "instructions")  # work without a single cache miss is possible

PERF_TYPE_HARDWARE = 0
ATTR_SIZE_VER0 = 64
TOTAL_TIME_RUNNING = 1 << 1
EXCLUDE_KERNEL, EXCLUDE_HYPERVISOR = 1 << 5, 1 << 6  # without the kernel's part: paranoid level 2 allows that
THIS_THREAD, ANY_CPU, NO_GROUP = 0, -1, -1
CLOSE_ON_EXEC = 1 << 3


def read_counters() -> dict[str, Probe]:
    """Each event's name with whether it counted this thread's work."""
    return {name: count(name) for name in EVENTS}


def count(name: str) -> Probe:
    call = PERF_EVENT_OPEN.get(platform.machine())
    if call is None:
        return Probe(works=False, reason=f"not tried on {platform.machine()}")
    attr = struct.pack(
        "=IIQQQQQ16x",
        PERF_TYPE_HARDWARE,
        ATTR_SIZE_VER0,
        EVENTS[name],
        0,
        0,
        TOTAL_TIME_RUNNING,
        EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
    )
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    descriptor = syscall(ctypes.c_long(call), attr, THIS_THREAD, ANY_CPU, NO_GROUP, ctypes.c_ulong(CLOSE_ON_EXEC))
    if descriptor < 0:
        return Probe(works=False, reason=refusal(ctypes.get_errno()))
    try:
        sum(bytes(1 << 16))  # work to be counted
        value, running = struct.unpack("=QQ", os.read(descriptor, 16))
    except (OSError, struct.error) as error:
        return Probe(works=False, reason=str(error))
    finally:
        os.close(descriptor)
    if not running:
        return Probe(works=False, reason="opens, but was never scheduled")
    if name in NEVER_ZERO and not value:
        return Probe(works=False, reason="opens, but counts nothing")
    return Probe(works=True)


def refusal(code: int) -> str:
    if code in (errno.ENOENT, errno.EOPNOTSUPP):
        return "this processor or VM has no such counter"
    if code in (errno.EACCES, errno.EPERM):
        return "not permitted (kernel.perf_event_paranoid)"
    return os.strerror(code)
