"""The kernel's softirq threads, before tenants that always poll."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.sharing import sched
from windtunnel.sharing.changed_threads import Journal
from windtunnel.sharing.tenants.find_threads import PROC
from windtunnel.sharing.threads import KERNEL_THREAD


@contextmanager
def softirqs_first(journal: Journal, cpus: Sequence[int], proc: Path = PROC) -> Iterator[None]:
    """The kernel's softirq threads of these CPUs as SCHED_FIFO, where that is permitted. What a tick or a kick interrupts of the network's
    work is left to them, and an ordinary thread would wait for milliseconds behind tenants that always poll in a shield."""
    found = softirq_threads(cpus, proc)
    with suppress(UserError):
        for tid in found:
            journal.change(tid, policy=(sched.FIFO, 1, 0))
    try:
        yield
    finally:
        for tid in found:
            journal.put_back(tid)


def softirq_threads(cpus: Sequence[int], proc: Path = PROC) -> list[int]:
    names = {f"ksoftirqd/{cpu}" for cpu in cpus}
    return [int(path.parent.name) for path in proc.glob("[0-9]*/stat") if _kernel_name(path) in names]


def _kernel_name(stat: Path) -> str | None:
    """None where it is no kernel thread, or has ended."""
    try:
        head, _, fields = stat.read_text(errors="replace").rpartition(")")
    except OSError:
        return None
    return head.partition("(")[2] if int(fields.split()[6]) & KERNEL_THREAD else None
