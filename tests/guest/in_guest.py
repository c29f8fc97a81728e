"""Runs whose engines are in guests: planned for a machine made up like a guest, watched and judged as those of `windtunnel run`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from two_nodes import ONE_NODE, TWO_NODES

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.supervisor import Listener, Supervisor
from windtunnel.engine.verdict import judge
from windtunnel.host import facts
from windtunnel.host.dpdk import Nic
from windtunnel.runs import Run, RunWriter
from windtunnel.scenario import HostView, RunSpec


def guest(
    hugepages: int = 0,
    nics: Mapping[str, int | None] = MappingProxyType({}),
    two_nodes: bool = False,
    interfaces: Sequence[str] = (),
) -> HostView:
    """A guest as the planning must see it; `nics`: addresses of those that it gives to DPDK, and the nodes of their buses. `interfaces`: of
    the kernel."""
    bound = [
        Nic(address=a, device="?", driver="uio_pci_generic", interfaces=[], numa_node=node, iommu=False, addressed=[])
        for a, node in nics.items()
    ]
    return HostView(
        cpus=[0, 1],
        topology=TWO_NODES if two_nodes else ONE_NODE,
        hugepages_free_bytes=hugepages << 21,
        hugepages_usable=hugepages > 0,
        root=True,
        interfaces=[*interfaces],
        nics=bound,
    )


def supervised(engine: Path, spec: RunSpec, directory: Path, *listeners: Listener) -> Run:
    """The run of what stands where the engine stands."""
    spec = spec.into(directory)
    writer = RunWriter(directory, spec, facts.collect())
    with Interrupts() as interrupts:
        finished = Supervisor(engine, writer.log_path, [writer.line, *listeners], interrupts).run(
            spec.plans, spec.names
        )
    return writer.finish(judge(finished))
