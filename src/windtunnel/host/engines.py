"""CPUs to which workers of engines are bound that run now, from /proc."""

from pathlib import Path

from windtunnel.engine.find import NAME
from windtunnel.host.other_programs import NAME_LENGTH
from windtunnel.host.read import cpu_list, text
from windtunnel.proc import value

WORKER = "worker"
"""In the name that EAL gives a worker's thread: rte-worker-1 with DPDK 22.11, dpdk-worker1 later."""


def workers_cpus(proc: Path = Path("/proc")) -> set[int]:
    """Of engines that can be seen; in a container those of the container. An engine that still starts has bound none."""
    engines = [comm.parent for comm in proc.glob("[0-9]*/comm") if text(comm) == NAME[:NAME_LENGTH]]
    threads = [thread for engine in engines for thread in engine.glob("task/[0-9]*")]
    return {cpu for thread in threads if WORKER in (text(thread / "comm") or "") for cpu in _allowed(thread)}


def _allowed(thread: Path) -> list[int]:
    """Nothing for a thread that has ended."""
    return cpu_list(value(text(thread / "status") or "", "Cpus_allowed_list"))
