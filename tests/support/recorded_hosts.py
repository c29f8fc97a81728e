"""Hosts as their kernels number the CPUs, in a compact form, and the files of /sys that say so.

`vm-2` is that of a machine of this project, and `vm-16` that of a machine on which it flew. The others are written from what is known of how
such hosts number their CPUs: no run was made there, and no file of theirs was recorded.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any, cast

from windtunnel.host.cpu_topology import CpuTopology, read_cpu_topology
from windtunnel.host.dpdk import Nic
from windtunnel.host.read import cpu_list
from windtunnel.scenario import HostView


@dataclass(frozen=True, order=True)
class Kept:
    """A path of files that are in memory: thousands of them would take a disk seconds."""

    files: Mapping[str, str]
    path: str = ""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def __truediv__(self, name: str) -> "Kept":
        return Kept(self.files, f"{self.path}/{name}".lstrip("/"))

    def read_bytes(self) -> bytes:
        if self.path not in self.files:
            raise FileNotFoundError(self.path)
        return f"{self.files[self.path]}\n".encode()

    def glob(self, pattern: str) -> "list[Kept]":
        below = {
            file[len(self.path) + 1 :].partition("/")[0] for file in self.files if file.startswith(f"{self.path}/")
        }
        return [self / name for name in sorted(below) if fnmatch(name, pattern)]


@dataclass(frozen=True)
class RecordedHost:
    """A host. CPUs are lists as the kernel writes them."""

    cores: tuple[str, ...]
    """The hardware threads of each."""
    l3s: tuple[str, ...]
    nodes: tuple[str, ...]
    clusters: tuple[str, ...] = ()
    """Those of several cores."""
    efficient: str = ""
    has_clusters: bool = True
    """Whether the kernel has `cluster_cpus_list` (since 5.16), which else the L2 says."""

    @property
    def cpus(self) -> list[int]:
        return sorted(cpu for core in self.cores for cpu in cpu_list(core))

    def files(self) -> Iterator[tuple[str, str]]:
        """Path below the root, and text."""
        yield "sys/devices/system/cpu/online", f"0-{self.cpus[-1]}"
        for number, cpus in enumerate(self.nodes):
            yield f"sys/devices/system/node/node{number}/cpulist", cpus
        if self.efficient:
            yield "sys/devices/cpu_atom/cpus", self.efficient
        for core in self.cores:
            for cpu in cpu_list(core):
                cluster = self._with(cpu, self.clusters) or core
                where = f"sys/devices/system/cpu/cpu{cpu}"
                yield f"{where}/topology/thread_siblings_list", core
                if self.has_clusters:
                    yield f"{where}/topology/cluster_cpus_list", cluster
                for index, (level, kind, shared) in enumerate(
                    [(1, "Instruction", core), (2, "Unified", cluster), (3, "Unified", self._with(cpu, self.l3s))]
                ):
                    if shared:
                        yield f"{where}/cache/index{index}/level", str(level)
                        yield f"{where}/cache/index{index}/type", kind
                        yield f"{where}/cache/index{index}/shared_cpu_list", shared

    @staticmethod
    def _with(cpu: int, groups: tuple[str, ...]) -> str | None:
        return next((group for group in groups if cpu in cpu_list(group)), None)

    def written(self, root: Path) -> Path:
        """The root, with the files."""
        for name, text in self.files():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{text}\n")
        return root

    @property
    def root(self) -> Path:
        """A root that has the files in memory."""
        return cast(Path, Kept(dict(self.files())))


def _pairs(first: int, count: int, apart: int) -> tuple[str, ...]:
    """Cores of two threads each, whose numbers are `apart`."""
    return tuple(f"{cpu},{cpu + apart}" for cpu in range(first, first + count))


HOSTS = {
    "vm-2": RecordedHost(cores=("0", "1"), l3s=("0-1",), nodes=("0-1",)),  # KVM, EPYC Turin, one thread a core
    "vm-16": RecordedHost(  # KVM, Sapphire Rapids
        cores=tuple(map(str, range(16))), l3s=("0-15",), nodes=("0-15",)
    ),
    "hybrid": RecordedHost(  # Core i9-12900K: 8 cores of two threads, and 8 small ones in clusters of four
        cores=tuple(f"{cpu}-{cpu + 1}" for cpu in range(0, 16, 2)) + tuple(map(str, range(16, 24))),
        clusters=("16-19", "20-23"),
        l3s=("0-23",),
        nodes=("0-23",),
        efficient="16-23",
    ),
    "two-sockets": RecordedHost(  # 2 x Xeon Platinum 8592+: 64 cores of two threads each
        cores=_pairs(0, 128, 128), l3s=("0-63,128-191", "64-127,192-255"), nodes=("0-63,128-191", "64-127,192-255")
    ),
    "eight-l3s": RecordedHost(  # EPYC 7763: 64 cores of two threads, 8 to an L3, one node
        cores=_pairs(0, 64, 64),
        l3s=tuple(f"{first}-{first + 7},{first + 64}-{first + 71}" for first in range(0, 64, 8)),
        nodes=("0-127",),
        has_clusters=False,
    ),
}


@cache
def topology_of(name: str) -> CpuTopology:
    host = HOSTS[name]
    return read_cpu_topology(host.root, host.cpus)


def recorded_view(
    name: str, allowed: list[int] | None = None, nics: Mapping[str, int] | None = None, **more: Any
) -> HostView:
    """A recorded host as planning sees it; `allowed`: CPUs, all if None; `nics`: addresses and their NUMA nodes."""
    return HostView(
        cpus=HOSTS[name].cpus if allowed is None else allowed,
        topology=topology_of(name),
        hugepages_free_bytes=8 << 30,
        hugepages_usable=True,
        root=True,
        interfaces=["lo"],
        memory_bytes=64 << 30,
        nics=[
            Nic(address=a, device="8086:1592", driver="vfio-pci", interfaces=[], numa_node=n, iommu=True, addressed=[])
            for a, n in (nics or {}).items()
        ],
        **more,
    )
