"""Where the workers of a run are on its host: a map of the CPUs, and sentences on what was chosen and why."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from windtunnel.engine.plan_values import Side
from windtunnel.host.cpu_topology import CpuTopology
from windtunnel.scenario.cpu_choice import house_core
from windtunnel.scenario.exchanges import exchanging
from windtunnel.scenario.placement import Placed, cpu_list
from windtunnel.scenario.topology import Topology

NOTHING_TO_CHOOSE = 2
"""On so many CPUs client and server have one each, and there is no map."""
CORES_IN_ROW = 16
PAIRS_NAMED = 4
MARKS = {
    "S": "server",
    "C": "client",
    "B": "both",
    "T": "thread of a part",
    "M": "left to the main thread",
    ".": "no worker",
    "-": "not allowed",
}
"""What a CPU of the map is for."""


@dataclass(frozen=True)
class MapRow:
    """Some neighbouring cores of one L3."""

    place: str
    """Its NUMA node and L3, as far as the host has several."""
    cpus: str
    marks: str
    """A letter of `MARKS` for each hardware thread; a blank between two cores."""


@dataclass(frozen=True)
class CpuMap:
    """What a map is drawn from. It is drawn if somebody looks: a study plans thousands of runs and shows none."""

    topologies: Sequence[Topology]
    placed: Sequence[Placed]
    host: CpuTopology
    allowed: Collection[int]
    """CPUs of this process."""
    reserved: Collection[int]
    """CPUs with threads of parts."""
    nic_nodes: Mapping[Side, int]
    """The NUMA nodes of the sides' NICs."""

    @property
    def rows(self) -> list[MapRow]:
        """Empty if there was nothing to choose."""
        return list(_rows(self.placed, self.host, self.allowed, self.reserved)) if self._choice else []

    @property
    def reasons(self) -> list[str]:
        """Why the workers are where they are; empty if there was nothing to choose."""
        if not self._choice:
            return []
        return list(_reasons(self.topologies, self.placed, self.host, self.allowed, self.nic_nodes))

    @property
    def _choice(self) -> bool:
        return len(self.allowed) > NOTHING_TO_CHOOSE


def main_cpus(
    workers: Collection[int], host: CpuTopology, allowed: Collection[int], reserved: Collection[int]
) -> list[int]:
    """CPUs for the main thread: those of cores without a worker or another thread that polls, or else those without one; all if each has one."""
    polled = {*workers, *reserved}
    return sorted(set(allowed) - host.with_siblings(polled)) or sorted(set(allowed) - polled) or sorted(allowed)


def pairs_on_siblings(topologies: Sequence[Topology], placed: Sequence[Placed], host: CpuTopology) -> list[str]:
    """A note if workers that exchange packets are threads of one core."""
    pairs = [
        cpu_list(pair)
        for pair in _pairs(topologies, placed)
        if host.core_of.get(pair[0], -1) == host.core_of.get(pair[1], -2)
    ]
    if not pairs:
        return []
    more = f" and {len(pairs) - PAIRS_NAMED} more pairs" if len(pairs) > PAIRS_NAMED else ""
    text = f"CPU {' and '.join(pairs[:PAIRS_NAMED])}{more}: workers that exchange packets are threads of one core"
    return [f"{text}: both are slower than on cores of their own"]


def _pairs(topologies: Sequence[Topology], placed: Sequence[Placed]) -> list[tuple[int, int]]:
    return exchanging(topologies, {(stage.side, stage.stage, stage.index): stage.cpu for stage in placed})


def _rows(
    placed: Sequence[Placed], host: CpuTopology, allowed: Collection[int], reserved: Collection[int]
) -> Iterator[MapRow]:
    sides: dict[int, set[Side]] = {}
    for stage in placed:
        sides.setdefault(stage.cpu, set()).add(stage.side)
    main = set(host.cores[house_core(host, allowed)])
    main_is_alone = main.isdisjoint(sides)

    def mark(cpu: int) -> str:
        if cpu in sides:
            return "B" if len(sides[cpu]) > 1 else "S" if "server" in sides[cpu] else "C"
        if cpu in reserved:
            return "T"
        if cpu not in allowed:
            return "-"
        return "M" if cpu in main and main_is_alone else "."

    for l3, cpus in enumerate(host.l3s):
        cores = [host.cores[core] for core in dict.fromkeys(host.core_of[cpu] for cpu in cpus)]
        place = [f"node {host.node_of.get(cpus[0], 0)}"] if len(host.nodes) > 1 else []
        place += [f"L3 {l3}"] if len(host.l3s) > max(len(host.nodes), 1) else []
        for first in range(0, len(cores), CORES_IN_ROW):
            row = cores[first : first + CORES_IN_ROW]
            yield MapRow(
                " ".join(place),
                cpu_list(cpu for core in row for cpu in core),
                " ".join("".join(map(mark, core)) for core in row),
            )


def _reasons(
    topologies: Sequence[Topology],
    placed: Sequence[Placed],
    host: CpuTopology,
    allowed: Collection[int],
    nic_nodes: Mapping[Side, int],
) -> Iterator[str]:
    workers = {stage.cpu for stage in placed}
    cores = [host.core_of[cpu] for cpu in workers]
    if any(sum(cpu in allowed for cpu in core) > 1 for core in host.cores):
        sharing = sum(cores.count(core) > 1 for core in cores)
        yield (
            f"{sharing} of {len(workers)} workers share a physical core with another one"
            if sharing
            else f"each of {len(workers)} workers has a physical core of its own"
        )
    if small := workers & set(host.efficient):
        yield f"{len(small)} of {len(workers)} workers have small cores: they are slower than the others"
    pairs = _pairs(topologies, placed)
    if pairs and len(host.l3s) > 1:
        apart = sum(host.l3_of[a] != host.l3_of[b] for a, b in pairs)
        yield (
            f"{apart} of {len(pairs)} pairs of workers that exchange packets have two L3s"
            if apart
            else "workers that exchange packets share an L3"
        )
    for side, node in nic_nodes.items():
        if {host.node_of.get(stage.cpu) for stage in placed if stage.side == side} == {node}:
            yield f"the {side}'s workers are on NUMA node {node}, as its NIC is"
    main = house_core(host, allowed)
    yield (
        "no core is left to the main thread: it preempts workers"
        if main in cores
        else f"CPU {cpu_list(set(host.cores[main]) & set(allowed))} is left to the main thread, timers and the kernel's interrupts"
    )
