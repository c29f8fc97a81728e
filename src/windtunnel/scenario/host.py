"""The part of the host that planning needs. Tests construct their own."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windtunnel.host.cpu_topology import CpuTopology
    from windtunnel.host.dpdk import Nic


@dataclass(frozen=True)
class HostView:
    """The machine on which the run takes place."""

    cpus: list[int]
    """CPUs that this process may use."""
    topology: "CpuTopology"
    """What these and the other online CPUs share."""
    hugepages_free_bytes: int
    hugepages_usable: bool
    root: bool
    interfaces: list[str] | None = None
    """Kernel interfaces; None: not known."""
    memory_bytes: int | None = None
    """RAM; None: not known."""
    nics: "list[Nic] | None" = None
    """NICs on the PCI bus; None: not known."""
    other_devices: list[str] = field(default_factory=list)
    """PCI addresses of what is no NIC."""
    xdp_program: Callable[[str], str | None] = lambda interface: None
    """The XDP program on an interface, in words; read only if XDP is needed."""
    engines_cpus: Callable[[], set[int]] = set
    """CPUs to which workers of running engines are bound; read only if one side runs alone."""


@dataclass(frozen=True)
class Cable:
    """Two machines with a cable between them. Each runs one side."""

    server: HostView
    client: HostView


def here(root: Path = Path("/")) -> HostView:
    """This machine; devices and the topology of its CPUs as /sys below `root` shows them."""
    import os
    import socket

    from windtunnel.engine import xdp
    from windtunnel.host.cpu_topology import read_cpu_topology
    from windtunnel.host.cpus import online_cpus
    from windtunnel.host.dpdk import read_nics, read_others
    from windtunnel.host.engines import workers_cpus
    from windtunnel.host.facts import allowed_cpus, hugepages

    pages, cpus = hugepages(), allowed_cpus()
    return HostView(
        cpus=cpus,
        topology=read_cpu_topology(root, {*online_cpus(root), *cpus}),
        hugepages_free_bytes=pages.free_bytes,
        hugepages_usable=pages.usable,
        root=os.geteuid() == 0,
        interfaces=[name for _, name in socket.if_nameindex()],
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        nics=read_nics(root),
        other_devices=read_others(root),
        xdp_program=xdp.program,
        engines_cpus=workers_cpus,
    )
