"""Events that the kernel counts for a thread: perf_event_open(2), by the names of `perf list`.

No library is used: those on PyPI count a function of their own process (py-perf-event), or need libpfm4 and SWIG (performance-features).
"""

import ctypes
import errno
import os
import platform
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from windtunnel.host.cpus import cpuinfo
from windtunnel.host.read import text

SYSCALL = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}

HARDWARE, SOFTWARE, CACHE, RAW = 0, 1, 3, 4  # perf_type_id
ATTR_SIZE_VER0 = 64
TOTAL_TIME_ENABLED, TOTAL_TIME_RUNNING = 1 << 0, 1 << 1
EXCLUDE_KERNEL, EXCLUDE_HYPERVISOR = 1 << 5, 1 << 6  # without the kernel's part: paranoid level 2 allows that
THIS_THREAD, ANY_CPU, NO_GROUP = 0, -1, -1
CLOSE_ON_EXEC = 1 << 3
WRAPS_AT = 1 << 64

_HARDWARE = (
    "cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses", "bus-cycles", "stalled-cycles-frontend",
    "stalled-cycles-backend", "ref-cycles",
)  # fmt: skip
_SOFTWARE = (
    "cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations", "minor-faults", "major-faults", "alignment-faults",
    "emulation-faults",
)  # fmt: skip
_CACHES = ("L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node")
_OPERATIONS = ("load", "store", "prefetch")
_IN_THE_KERNEL = ("context-switches", "cpu-migrations")
"""These events happen only in the kernel: without its part they would count 0."""
_RAW = re.compile(r"r[0-9a-f]{1,16}")

EVENTS: Final[dict[str, tuple[int, int]]] = {
    **{name: (HARDWARE, number) for number, name in enumerate(_HARDWARE)},
    **{name: (SOFTWARE, number) for number, name in enumerate(_SOFTWARE)},
    **{
        f"{cache}-{operation}{ending}": (CACHE, place | number << 8 | missed << 16)
        for place, cache in enumerate(_CACHES)
        for number, operation in enumerate(_OPERATIONS)
        for missed, ending in enumerate(("s" if operation != "prefetch" else "es", "-misses"))
    },
}
"""Name -> perf_event_attr.type and .config."""
BLOCKED = "blocked-store-forwards"
"""Loads that wait because an older store, which they overlap, cannot be forwarded to them. The kernel has no name for this event."""
_INTEL_BEFORE_GOLDEN_COVE = frozenset(
    (
        0x2A,
        0x2D,
        0x3A,
        0x3E,
        0x3C,
        0x3F,
        0x45,
        0x46,
        0x3D,
        0x47,
        0x4F,
        0x56,
        0x4E,
        0x5E,
        0x55,
        0x8E,
        0x9E,
        0xA5,
        0xA6,
        0x7D,
        0x7E,
        0x6A,
    )
    + (0x6C, 0x8C, 0x8D, 0xA7)
)
"""Models of family 6 from Sandy Bridge to Rocket Lake and Ice Lake's Xeons."""
_INTEL_GOLDEN_COVE = frozenset((0x97, 0x9A, 0xB7, 0xBA, 0xBF, 0x8F, 0xCF))
"""Models of family 6 with this core: Alder and Raptor Lake (their performance cores), Sapphire and Emerald Rapids."""
_AMD_ZEN = frozenset((0x17, 0x19, 0x1A))
UNITS = {"cpu-clock": "ns", "task-clock": "ns"}
"""Units of events that are no counts."""


class Refused(Exception):
    """An event cannot be counted; `str` is the reason."""


@dataclass(frozen=True)
class Reading:
    """The count since an event was opened. `enabled_ns`: time for which the thread ran; `running_ns`: the part of it in which the event had a
    hardware counter. It is less if more events are requested than the core has counters."""

    value: int
    enabled_ns: int
    running_ns: int

    def since(self, before: "Reading") -> "Reading":
        """The difference to an earlier reading. A counter has 64 bits and wraps."""
        return Reading(
            (self.value - before.value) % WRAPS_AT,
            self.enabled_ns - before.enabled_ns,
            self.running_ns - before.running_ns,
        )


class Event:
    """An open event of one thread. Closed at the end of the context, or by `close`."""

    def __init__(self, name: str, thread: int = THIS_THREAD, with_kernel: bool = True) -> None:
        """Opens the event, without the kernel's part if only that is permitted. Raises Refused."""
        self.name = name
        self.user_only = not with_kernel
        try:
            self._fd = _open(name, thread, with_kernel)
        except PermissionError as error:
            if not with_kernel or name in _IN_THE_KERNEL:
                raise Refused(_denied(1)) from error
            self.user_only = True
            try:
                self._fd = _open(name, thread, with_kernel=False)
            except OSError as again:
                raise Refused(reason_text(again)) from again
        except OSError as error:
            raise Refused(reason_text(error)) from error

    def read(self) -> Reading:
        """The reading now. Raises Refused if the event cannot be read any more."""
        try:
            return Reading(*struct.unpack("=QQQ", os.read(self._fd, 24)))
        except (OSError, struct.error) as error:
            raise Refused(f"it cannot be read: {error}") from error

    def close(self) -> None:
        os.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def known(name: str) -> bool:
    """Whether a name is one of `EVENTS`, `BLOCKED`, or a raw event as in "r01c2"."""
    return name in EVENTS or name == BLOCKED or bool(_RAW.fullmatch(name))


def blocked_store_forwards(processor: dict[str, str]) -> int:
    """The raw number of `BLOCKED` on a processor, given as /proc/cpuinfo has it. Raises Refused for one of which it is not known.

    Source: LD_BLOCKS.STORE_FORWARD in the event lists of intel/perfmon, ls_bad_status2.stli_other in those of Linux for AMD Zen.
    """
    vendor = processor.get("vendor_id", "")
    family, model = (int(processor.get(name, "0") or "0") for name in ("cpu family", "model"))
    if vendor == "GenuineIntel" and family == 6 and model in _INTEL_BEFORE_GOLDEN_COVE:
        return 0x0203
    if vendor == "GenuineIntel" and family == 6 and model in _INTEL_GOLDEN_COVE:
        return 0x8203
    if vendor == "AuthenticAMD" and family in _AMD_ZEN:
        return 0x0224
    raise Refused(f"which raw event it is on this processor is not known: name it, as in r0203, instead of {BLOCKED}")


def _open(name: str, thread: int, with_kernel: bool) -> int:
    """A descriptor of the event. Raises OSError if the kernel refuses it, and Refused if the number of the system call is not known."""
    call = SYSCALL.get(platform.machine())
    if call is None:
        raise Refused(f"not tried on {platform.machine()}")
    kind, config = _numbers(name)
    excluded = EXCLUDE_HYPERVISOR | (0 if with_kernel else EXCLUDE_KERNEL)
    formats = TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING
    attr = struct.pack("=IIQQQQQ16x", kind, ATTR_SIZE_VER0, config, 0, 0, formats, excluded)
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    descriptor = syscall(ctypes.c_long(call), attr, thread, ANY_CPU, NO_GROUP, ctypes.c_ulong(CLOSE_ON_EXEC))
    if descriptor < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(descriptor)


def _numbers(name: str) -> tuple[int, int]:
    """perf_event_attr.type and .config of an event that is `known`. Raises Refused."""
    if name == BLOCKED:
        return RAW, blocked_store_forwards(cpuinfo(text(Path("/proc/cpuinfo")) or ""))
    return EVENTS[name] if name in EVENTS else (RAW, int(name[1:], 16))


def reason_text(error: OSError) -> str:
    """Why the kernel refuses an event."""
    match error.errno:
        case errno.ENOENT | errno.EOPNOTSUPP | errno.ENODEV:
            return "this processor or virtual machine has no such counter"
        case errno.EACCES | errno.EPERM:
            return _denied(2)
        case errno.ESRCH:
            return "the thread has ended"
        case errno.EMFILE | errno.ENFILE:
            return "too many open files: ask for fewer events"
        case errno.EINVAL:
            return "this processor does not take the event"
        case errno.ENOSYS:
            return "this kernel has no perf_event_open, or a container forbids it"
    return error.strerror or str(error)


def _denied(level: int) -> str:
    """The reason if permission is missing. `level`: the highest kernel.perf_event_paranoid at which a thread's own user may open the event."""
    return (
        f"not permitted: `sysctl kernel.perf_event_paranoid={level}` or less permits it, so does CAP_PERFMON; in a container its seccomp "
        "profile may forbid perf_event_open"
    )
