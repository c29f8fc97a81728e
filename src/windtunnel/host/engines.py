"""CPUs to which workers of running engines are bound, from /proc."""

from pathlib import Path

from windtunnel.engine.find import NAME
from windtunnel.host.other_programs import NAME_LENGTH
from windtunnel.host.read import cpu_list, text
from windtunnel.proc import value

WORKER = "worker"
"""Part of the name that EAL gives a worker's thread: rte-worker-1 with DPDK 22.11, dpdk-worker1 later."""


def workers_cpus(proc: Path = Path("/proc")) -> set[int]:
    """CPUs of the workers of all visible engines; in a container those of the container. An engine that is starting has bound none."""
    engines = [comm.parent for comm in proc.glob("[0-9]*/comm") if text(comm) == NAME[:NAME_LENGTH]]
    threads = [thread for engine in engines for thread in engine.glob("task/[0-9]*")]
    return {cpu for thread in threads if WORKER in (text(thread / "comm") or "") for cpu in _allowed(thread)}


def _allowed(thread: Path) -> list[int]:
    """The CPUs to which a thread is bound; empty if it has ended."""
    return cpu_list(value(text(thread / "status") or "", "Cpus_allowed_list"))
