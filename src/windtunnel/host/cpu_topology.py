"""Which CPUs share a core, a cluster, an L3 and a NUMA node, as the kernel reports them.

A hypervisor may hide all of it: then each CPU is a core of its own, and all share one L3. What workers measure of it is the host's state
(`windtunnel.host.levels`).
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from pathlib import Path

from pydantic import Field

from windtunnel.host.read import Part, cpu_list, number, text

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"
EFFICIENT = "sys/devices/cpu_atom/cpus"
"""The CPUs of a hybrid x86 that Intel calls efficient, as perf needs them."""
MOST_CACHES = 5
"""Of a CPU: the L1's for data and instructions, L2, L3, and an L4 of some."""


class NumaNode(Part):
    node: int
    cpus: list[int]


class CpuTopology(Part):
    """The CPUs of a host. Each online CPU is in one core, one cluster and one L3, in ascending order of their first CPUs."""

    cores: list[list[int]] = Field(description="hardware threads of each physical core")
    clusters: list[list[int]] = Field(description="CPUs that share an L2: a core, or some small cores")
    l3s: list[list[int]] = Field(description="CPUs that share an L3; those of a socket if the kernel does not say")
    nodes: list[NumaNode] = Field(description="empty: the kernel reports none")
    efficient: list[int] = Field(description="CPUs that are slower than the others by design")

    @cached_property
    def core_of(self) -> Mapping[int, int]:
        """CPU -> position of its core."""
        return _positions(self.cores)

    @cached_property
    def cluster_of(self) -> Mapping[int, int]:
        """CPU -> position of its cluster."""
        return _positions(self.clusters)

    @cached_property
    def l3_of(self) -> Mapping[int, int]:
        """CPU -> position of its L3."""
        return _positions(self.l3s)

    @cached_property
    def node_of(self) -> Mapping[int, int]:
        """CPU -> number of its NUMA node; a CPU without a node is left out."""
        return {cpu: node.node for node in self.nodes for cpu in node.cpus}

    def with_siblings(self, cpus: Iterable[int]) -> set[int]:
        """The CPUs and all that share a core with one of them."""
        return {sibling for cpu in cpus for sibling in self.cores[self.core_of[cpu]]}


def alike(cpus: Collection[int]) -> CpuTopology:
    """The topology of CPUs of which nothing is known: a core each, and one L3."""
    cores = [[cpu] for cpu in sorted(cpus)]
    return CpuTopology(cores=cores, clusters=cores, l3s=[sorted(cpus)], nodes=[], efficient=[])


def read_cpu_topology(root: Path, online: Collection[int]) -> CpuTopology:
    """Reads /sys below `root`. `online`: the CPUs to read, at least one."""

    def core(cpu: int) -> set[int]:
        return {cpu, *_list(root, cpu, "topology/thread_siblings_list")}

    def cluster(cpu: int) -> set[int]:
        return core(cpu).union(_list(root, cpu, "topology/cluster_cpus_list") or _sharing(root, cpu, 2))

    def l3(cpu: int) -> set[int]:
        socket = _list(root, cpu, "topology/package_cpus_list") or _list(root, cpu, "topology/core_siblings_list")
        return core(cpu).union(_sharing(root, cpu, 3) or socket or online)

    return CpuTopology(
        cores=_groups(online, core),
        clusters=_groups(online, cluster),
        l3s=_groups(online, l3),
        nodes=_nodes(root),
        efficient=_efficient(root, online),
    )


def _groups(online: Collection[int], sharing: Callable[[int], set[int]]) -> list[list[int]]:
    """The online CPUs by what `sharing` has for each: the CPUs that it shares something with."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for cpu in sorted(online):
        groups.setdefault(tuple(sorted(sharing(cpu))), []).append(cpu)
    return list(groups.values())


def _list(root: Path, cpu: int, name: str) -> list[int]:
    return cpu_list(text(root / CPU / f"cpu{cpu}" / name))


def _sharing(root: Path, cpu: int, level: int) -> list[int]:
    """The CPUs with which one shares its data or unified cache of a level; empty if the kernel shows no such cache."""
    for position in range(MOST_CACHES):
        index = root / CPU / f"cpu{cpu}" / "cache" / f"index{position}"
        if number(index / "level") == level and text(index / "type") != "Instruction":
            return cpu_list(text(index / "shared_cpu_list"))
    return []


def _nodes(root: Path) -> list[NumaNode]:
    nodes = [
        NumaNode(node=int(path.name.removeprefix("node")), cpus=cpu_list(text(path / "cpulist")))
        for path in (root / NODE).glob("node[0-9]*")
    ]
    return sorted(nodes, key=lambda node: node.node)


def _efficient(root: Path, online: Collection[int]) -> list[int]:
    """What the kernel names so, or the CPUs of an Arm with less capacity than its largest ones."""
    if small := cpu_list(text(root / EFFICIENT)):
        return sorted(set(small) & set(online))
    capacity = {cpu: number(root / CPU / f"cpu{cpu}" / "cpu_capacity") or 0 for cpu in online}
    return sorted(cpu for cpu in online if capacity[cpu] < max(capacity.values()))


def _positions(groups: list[list[int]]) -> dict[int, int]:
    return {cpu: position for position, cpus in enumerate(groups) for cpu in cpus}
