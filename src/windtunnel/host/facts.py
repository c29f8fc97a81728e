"""The facts of this host, read in some milliseconds and kept in every run.json.

No subprocess is started; a value that could not be read is null.
"""

import os
import platform
import socket
from pathlib import Path

from pydantic import Field

from windtunnel.engine.part_fields import with_fields_of_parts
from windtunnel.host.caches import Cache, reported
from windtunnel.host.copy_engines import CopyEngine, read_copy_engines
from windtunnel.host.counters import read_counters
from windtunnel.host.cpus import Cpus, allowed_cpus, read_cpus
from windtunnel.host.dpdk import Dpdk, Nic, read_dpdk, read_nics
from windtunnel.host.memory import Hugepages, Memory, hugepages, read_memory
from windtunnel.host.read import Part, Probe, text
from windtunnel.part_registry import part_functions
from windtunnel.proc import lines

__all__ = ["Cpus", "Dpdk", "Facts", "Hugepages", "Memory", "Nic", "Probe", "allowed_cpus", "collect", "hugepages"]

ETH_P_ALL = 0x0003


@with_fields_of_parts("facts")
class Facts(Part):
    """The facts of a host. Two runs may be compared if their facts agree in all that matters to the question."""

    hostname: str
    system: str
    kernel: str
    architecture: str
    root: bool
    cpus: Cpus
    caches: list[Cache] = Field(default_factory=list)
    """Data and unified caches of the first CPU that is allowed, the nearest first, as the kernel reports them; empty: not known."""
    memory: Memory
    counters: dict[str, Probe]
    dpdk: Dpdk
    nics: list[Nic]
    copy_engines: list[CopyEngine] = Field(default_factory=list)
    raw_sockets: Probe


def collect(root: Path = Path("/")) -> Facts:
    """Reads /proc and /sys below `root`, and probes what cannot be read."""
    of_parts = {name: facts for read in part_functions("facts", "read") for name, facts in read(root).items()}
    return Facts(
        hostname=platform.node(),
        system=system(text(root / "etc/os-release") or ""),
        kernel=platform.release(),
        architecture=platform.machine(),
        root=os.geteuid() == 0,
        cpus=read_cpus(root),
        caches=reported(min(allowed_cpus()), root),
        memory=read_memory(root),
        counters=read_counters(),
        dpdk=read_dpdk(root),
        nics=read_nics(root),
        copy_engines=read_copy_engines(root),
        raw_sockets=raw_sockets(),
        **of_parts,
    )


def system(os_release: str) -> str:
    """PRETTY_NAME of /etc/os-release."""
    for line in lines(os_release):
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip("\"'")
    return platform.system()


def raw_sockets() -> Probe:
    """Tries to open a packet socket, which the af_packet wire needs."""
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)).close()
    except OSError as error:
        return Probe(works=False, reason=error.strerror)
    return Probe(works=True)
