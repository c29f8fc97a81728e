"""The kernel's softirq threads, before tenants that always poll."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.sharing import sched
from windtunnel.sharing.places import Journal
from windtunnel.sharing.tenants.finding import PROC


@contextmanager
def softirqs_first(journal: Journal, cpus: Sequence[int], proc: Path = PROC) -> Iterator[None]:
    """The kernel's softirq threads of these CPUs as SCHED_FIFO, where that is permitted. What a tick or a kick interrupts of the network's
    work is left to them, and an ordinary thread would wait for milliseconds behind tenants that always poll in a shield."""
    names = {f"ksoftirqd/{cpu}" for cpu in cpus}
    found = [int(path.parent.name) for path in proc.glob("[0-9]*/comm") if _name(path) in names]
    with suppress(UserError):
        for tid in found:
            journal.change(tid, policy=(sched.FIFO, 1, 0))
    try:
        yield
    finally:
        for tid in found:
            journal.put_back(tid)


def _name(comm: Path) -> str:
    try:
        return comm.read_text().strip()
    except OSError:  # it has ended
        return ""
