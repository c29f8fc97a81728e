"""Whoever restores tenants runs before them: one of them may be real-time still, and together they may have nearly all of the weight. What is
ordinary beside them has some milliseconds of a second, or none, and so has what is real-time below one that made itself so. It works for a
moment, and the kernel's bound for real-time threads stays.
"""

import contextlib
import os
import resource
from collections.abc import Iterator
from threading import get_native_id

from windtunnel_sharing import sched, threads

PRIORITY = os.sched_get_priority_max(os.SCHED_FIFO)


@contextlib.contextmanager
def before_tenants() -> Iterator[None]:
    """The calling thread runs before all tenants, raised ones too, and afterwards as it did. Without the right, or a real-time budget of its
    cgroup, with a limit of real-time CPU time, or SCHED_DEADLINE, it runs as it did throughout. What it starts meanwhile is ordinary, and nothing to wait for."""
    me = get_native_id()
    limit = resource.getrlimit(resource.RLIMIT_RTTIME)
    if sched.get(me).policy == sched.DEADLINE or not _without_time_limit(0):
        yield
        return
    found = threads.read(me)  # looks up the default slice, too, for which a thread is started and waited for
    before = {name: found[name] for name in ("policy", "runtime_ns")}
    policy, priority, flags = threads.numbers(before, "policy")
    try:
        threads.write(me, {"policy": (sched.FIFO, max(priority, PRIORITY), sched.RESET_ON_FORK)})
    except PermissionError:
        yield
        return
    try:
        yield
    finally:
        threads.write(me, before | {"policy": (policy, priority, sched.RESET_ON_FORK)})
        with contextlib.suppress(PermissionError):  # RLIMIT_RTPRIO permits to be real-time, and not to lose the flag
            threads.write(me, {"policy": (policy, priority, flags)})
        resource.setrlimit(resource.RLIMIT_RTTIME, limit)


def put_before_tenants(pid: int) -> None:
    """A process that restores, from its start to its end: it sleeps until it has to. The one thread that it starts, and waits for, tells the
    default slice, and runs so as well. Without the right, or a real-time budget, it runs as it did."""
    with contextlib.suppress(PermissionError, ProcessLookupError):
        if _without_time_limit(pid):
            threads.write(pid, {"policy": (sched.FIFO, PRIORITY, 0)})


def _without_time_limit(pid: int) -> bool:
    """Takes RLIMIT_RTTIME from a process (0: this one), at which the kernel would kill it in the middle. False: it has to keep it."""
    try:
        resource.prlimit(pid, resource.RLIMIT_RTTIME, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except (PermissionError, ValueError):
        return False
    return True
