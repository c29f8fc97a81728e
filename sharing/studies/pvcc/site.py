"""The tenants' core and the client's, and the threads that ran on them."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic_ns

from windtunnel.api.errors import UserError
from windtunnel_sharing.threads import cpu_ns

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
STAT = Path("/proc/stat")


@dataclass(frozen=True)
class Site:
    """Where a figure is run. Tenants share `tenant_cpu`; the client, and the tenants' second core of Fig. 11, is `client_cpu`."""

    tenant_cpu: int
    client_cpu: int


def choose_site(tenant_cpu: int | None, client_cpu: int | None) -> Site:
    """By default the last CPU for the tenants and the first for the client: interrupts go to the first ones.

    Raises UserError where there are not two CPUs, or both are the same.
    """
    allowed = sorted(os.sched_getaffinity(0))
    for cpu in (tenant_cpu, client_cpu):
        if cpu is not None and cpu not in allowed:
            raise UserError(f"this process may not use CPU {cpu}", remedy=f"one of {', '.join(map(str, allowed))}")
    tenants = tenant_cpu if tenant_cpu is not None else next((c for c in reversed(allowed) if c != client_cpu), None)
    client = client_cpu if client_cpu is not None else next((c for c in allowed if c != tenants), None)
    if tenants is None or client is None:
        raise UserError(
            "a figure needs two CPUs: one that tenants share, one for the client", remedy="use a larger machine"
        )
    if tenants == client:
        raise UserError(
            f"the client may not run on CPU {client}, which its tenants use: it would measure itself",
            remedy="give two different CPUs with --cpu and --client-cpu",
        )
    return Site(tenants, client)


@dataclass
class Watched:
    """Use of the watched cores, summed over them."""

    elapsed_ns: int = 0
    idle_ns: int = 0
    own_ns: int = 0

    @property
    def own_share(self) -> float | None:
        """The tenants' part of the core's busy time; None where there was none."""
        used = max(self.elapsed_ns - self.idle_ns, self.own_ns)
        return self.own_ns / used if used > 0 else None


@contextmanager
def watching(cpus: Sequence[int], threads: Callable[[], Iterable[int]]) -> Iterator[Watched]:
    """Watches cores and `threads`: those of the tenants on them and of what slices them, asked for at the beginning and at the end, which the
    tenants must live to see. The `Watched` that it gives is filled at the end. The kernel tells idle time in its ticks of 10 ms."""
    found = Watched()
    began, idle, ran = monotonic_ns(), _idle_ns(cpus), sum(map(cpu_ns, threads()))
    yield found
    found.elapsed_ns = (monotonic_ns() - began) * len(cpus)
    found.idle_ns = min(_idle_ns(cpus) - idle, found.elapsed_ns)
    found.own_ns = max(0, sum(map(cpu_ns, threads())) - ran)


def _idle_ns(cpus: Sequence[int]) -> int:
    """idle + iowait of CPUs since boot."""
    wanted = {f"cpu{cpu}" for cpu in cpus}
    lines = (line.split() for line in STAT.read_text().splitlines())
    return sum((int(l[4]) + int(l[5])) * 1_000_000_000 // TICKS_A_SECOND for l in lines if l and l[0] in wanted)
