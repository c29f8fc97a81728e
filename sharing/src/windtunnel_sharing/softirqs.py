"""The kernel's softirq threads, before tenants that always poll."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from windtunnel.api.errors import UserError
from windtunnel_sharing import sched, threads
from windtunnel_sharing.changed_threads import Journal


@contextmanager
def softirqs_first(journal: Journal, cpus: Sequence[int]) -> Iterator[None]:
    """The kernel's softirq threads of these CPUs as SCHED_FIFO, where that is permitted. What a tick or a kick interrupts of the network's
    work is left to them, and an ordinary thread would wait for milliseconds behind tenants that always poll in a shield."""
    found = softirq_threads(cpus)
    with suppress(UserError):
        for tid in found:
            journal.change(tid, policy=(sched.FIFO, 1, 0))
    try:
        yield
    finally:
        for tid in found:
            journal.put_back(tid)


def softirq_threads(cpus: Sequence[int]) -> list[int]:
    names = {f"ksoftirqd/{cpu}" for cpu in cpus}
    named = [pid for pid in threads.pids() if threads.name(pid) in names]
    return [pid for pid in named if (found := threads.stat(pid)) and found.kernel]
