"""sched_getattr and sched_setattr, which Python's `os` does not have (sched_setattr(2); kernel/sched/syscalls.c).

Since Linux 6.12 the field sched_runtime of an ordinary thread is its EEVDF slice in ns (100 us to 100 ms, 0: the default).
"""

import ctypes
import errno
import os
import platform
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

OTHER, FIFO, RR, BATCH, IDLE, DEADLINE = 0, 1, 2, 3, 5, 6
NAMES = {OTHER: "other", FIFO: "fifo", RR: "rr", BATCH: "batch", IDLE: "idle", DEADLINE: "deadline"}
FAIR = (OTHER, BATCH)
"""Policies of which the kernel takes a nice value and a slice."""
REAL_TIME = (FIFO, RR)
"""Policies with which a thread has no timer slack. One that leaves them has its default, and not what it had before (Linux 6.12)."""
RESET_ON_FORK = 1
RAISED_PRIORITY = 1
"""Of the tenant whose turn it is: raised_priority of slicers/task.h."""
SLICER_PRIORITY = 90
"""Of a slicer: slicer_priority there."""
LEAST_SLICE_NS, MOST_SLICE_NS = 100_000, 100_000_000
"""The kernel's limits of a custom slice."""
_NUMBERS = {"x86_64": (314, 315), "aarch64": (274, 275), "riscv64": (274, 275)}
"""Numbers of sched_setattr and sched_getattr."""


class _Attr(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    ]


@dataclass(frozen=True)
class Attributes:
    """How a thread is scheduled. `runtime_ns` is the EEVDF slice of an ordinary thread; 0 where the kernel has none, or tells none
    (of a real-time thread)."""

    policy: int
    priority: int
    nice: int
    runtime_ns: int
    flags: int = 0


@cache
def _libc() -> ctypes.PyDLL:
    """Its calls keep Python's lock: no other thread of this process runs meanwhile."""
    return ctypes.PyDLL(None, use_errno=True)


def _call(which: int, *arguments: object) -> None:
    numbers = _NUMBERS.get(platform.machine())
    if numbers is None:
        raise OSError(errno.ENOSYS, f"the numbers of sched_setattr are not known for {platform.machine()}")
    if _libc().syscall(ctypes.c_long(numbers[which]), *arguments) < 0:
        raise OSError(number := ctypes.get_errno(), os.strerror(number))


def get(tid: int) -> Attributes:
    """Raises ProcessLookupError where the thread does not exist."""
    attr = _Attr()
    _call(1, ctypes.c_int(tid), ctypes.byref(attr), ctypes.c_uint(ctypes.sizeof(attr)), ctypes.c_uint(0))
    ordinary = attr.policy in (*FAIR, IDLE)
    # A real-time thread keeps a nice value for later, which sched_getattr does not tell.
    nice = attr.nice if ordinary else os.getpriority(os.PRIO_PROCESS, tid)
    return Attributes(attr.policy, attr.priority, nice, attr.runtime if ordinary else 0, attr.flags & RESET_ON_FORK)


def put(tid: int, to: Attributes) -> None:
    """Raises PermissionError without the right (CAP_SYS_NICE), ProcessLookupError where the thread does not exist."""
    attr = _Attr(ctypes.sizeof(_Attr), to.policy, to.flags & RESET_ON_FORK, to.nice, to.priority, to.runtime_ns, 0, 0)
    _call(0, ctypes.c_int(tid), ctypes.byref(attr), ctypes.c_uint(0))


@cache
def default_slice_ns() -> int:
    """The slice of a thread without a custom slice, in ns; 0 where the kernel does not tell it (before 6.12).

    Read of a new thread that is ordinary for a moment and has no custom slice: it inherits both of the caller, which may be a real-time thread.
    That waits for it, so it does not have to run meanwhile: it may get no time as an ordinary one.
    """
    from threading import Event, Thread

    told = Event()
    thread = Thread(target=told.wait)
    try:
        thread.start()
    except RuntimeError:  # the host is full, or this thread is SCHED_DEADLINE, which starts none
        return _own_default_slice_ns()
    tid = thread.native_id
    assert tid is not None  # it has started
    before = get(tid)
    put(tid, Attributes(before.policy if before.policy in FAIR else OTHER, 0, before.nice, 0, before.flags))
    found = get(tid).runtime_ns
    if before.policy in REAL_TIME:
        with suppress(PermissionError):
            put(tid, before)
    told.set()
    thread.join()
    return found


def _own_default_slice_ns() -> int:
    """The same of the calling thread, if it is ordinary, which has no custom slice for a moment; else 0."""
    before = get(0)
    if before.policy not in FAIR:
        return 0
    put(0, Attributes(before.policy, 0, before.nice, 0, before.flags))
    default = get(0).runtime_ns
    if before.runtime_ns != default:
        put(0, before)
    return default
