"""What this machine is, read in some milliseconds and kept in every run.json.

No subprocess is started; what could not be read is null.
"""

import os
import platform
import socket
from pathlib import Path

from pydantic import Field

from windtunnel.host.copy_engines import CopyEngine, read_copy_engines
from windtunnel.host.counters import read_counters
from windtunnel.host.cpus import Cpus, allowed_cpus, read_cpus
from windtunnel.host.dpdk import Dpdk, Nic, read_dpdk, read_nics
from windtunnel.host.memory import Hugepages, Memory, hugepages, read_memory
from windtunnel.host.rdma import Rdma, read_rdma
from windtunnel.host.read import Part, Probe, text
from windtunnel.proc import lines

__all__ = ["Cpus", "Dpdk", "Facts", "Hugepages", "Memory", "Nic", "Probe", "allowed_cpus", "collect", "hugepages"]

ETH_P_ALL = 0x0003


class Facts(Part):
    """A host. Two runs may be compared when theirs agree in what matters to the question."""

    hostname: str
    system: str
    kernel: str
    architecture: str
    root: bool
    cpus: Cpus
    memory: Memory
    counters: dict[str, Probe]
    dpdk: Dpdk
    nics: list[Nic]
    copy_engines: list[CopyEngine] = Field(default_factory=list)
    rdma: Rdma = Field(default_factory=lambda: Rdma(library=False, devices=[]))
    raw_sockets: Probe


def collect(root: Path = Path("/")) -> Facts:
    """Reads /proc and /sys below `root` and tries what only a trial can tell."""
    return Facts(
        hostname=platform.node(),
        system=system(text(root / "etc/os-release") or ""),
        kernel=platform.release(),
        architecture=platform.machine(),
        root=os.geteuid() == 0,
        cpus=read_cpus(root),
        memory=read_memory(root),
        counters=read_counters(),
        dpdk=read_dpdk(root),
        nics=read_nics(root),
        copy_engines=read_copy_engines(root),
        rdma=read_rdma(root),
        raw_sockets=raw_sockets(),
    )


def system(os_release: str) -> str:
    """PRETTY_NAME of /etc/os-release."""
    for line in lines(os_release):
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip("\"'")
    return platform.system()


def raw_sockets() -> Probe:
    """Opens a packet socket: what the af_packet wire needs."""
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)).close()
    except OSError as error:
        return Probe(works=False, reason=error.strerror)
    return Probe(works=True)
