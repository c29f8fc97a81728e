"""Which CPUs each endpoint gets if the scenario does not name them.

Workers that exchange packets are placed one after the other, server first, each on the free CPU that is best by these rules, the first that
tells two apart deciding:

1. no core of a worker with which it exchanges packets;
2. a physical core that no worker has;
3. not the core that is left to the main thread, to timers and to the kernel's interrupts: that of a small CPU, or else of the lowest;
4. a large core before a small one;
5. the NUMA node of its NIC;
6. the L3 of the workers with which it exchanges packets, or else their node;
7. the highest core, and its first thread.

If all CPUs are alike, the server has the highest one and the client the next.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from windtunnel.engine.plan_values import Side
from windtunnel.host.cpu_topology import CpuTopology
from windtunnel.scenario.exchanges import exchanging
from windtunnel.scenario.placement import check_cores_exist, fixed_cpus, groups, least_cpus_of, stages_on
from windtunnel.scenario.refusal import Refusal
from windtunnel.scenario.topology import Topology

Seat = tuple[Side, int]
"""A worker to be placed: side, and position among the CPUs of the side."""


def divide(
    topologies: Sequence[Topology],
    allowed: Sequence[int],
    host: CpuTopology,
    reserved: Collection[int] = (),
    nic_nodes: Mapping[Side, int] | None = None,
) -> dict[Side, list[int]]:
    """The CPUs of each endpoint, server first in `topologies`; the same ones for both if there are too few. `reserved`: CPUs that are left to
    other threads, or have workers of another engine, as long as one other is there. `nic_nodes`: the NUMA node of a side's NIC, if
    it has one.

    Raises Refusal if the scenario names a CPU that is not among the allowed ones, and if workers that must not share CPUs would.
    """
    for topology in topologies:
        check_cores_exist(topology, allowed)
    cpus = {topology.side: fixed_cpus(topology) for topology in topologies}
    undecided = [topology for topology in topologies if not cpus[topology.side]]
    named = {cpu for side in cpus.values() for cpu in side}
    usable = sorted(set(allowed) - set(reserved)) or sorted(allowed)
    free = sorted(set(usable) - named)
    least = sum(least_cpus_of(topology) for topology in undecided)
    _check_separate(undecided, len(free))
    if least > len(free):
        free = usable
    if least > len(free):
        return cpus | {topology.side: free[::-1] for topology in undecided}
    counts = _counts(undecided, len(free))
    positions: dict[Side, list[int]] = {
        topology.side: cpus[topology.side] or list(range(counts[topology.side])) for topology in topologies
    }
    seats = _Seats(host, free, house_core(host, allowed), nic_nodes or {}, used=named | set(reserved))
    for side, of_side in cpus.items():
        seats.cpu_of |= {(side, position): cpu for position, cpu in enumerate(of_side)}
    seats.place(_teams(topologies, positions))
    return cpus | {side: [seats.cpu_of[side, position] for position in range(count)] for side, count in counts.items()}


def _check_separate(undecided: Sequence[Topology], free: int) -> None:
    """Raises Refusal if a side whose workers must not share CPUs has too few."""
    wanted = sum(len(groups(topology)) for topology in undecided)
    for topology in undecided:
        if topology.keys.cores == "separate" and wanted > free:
            raise Refusal(
                (topology.side, "cores"),
                f'{topology.side}.cores = "separate": {wanted} workers need a CPU each, {free} are free',
                'fewer apps or dispatchers, or cores = "auto"',
            )


def house_core(host: CpuTopology, allowed: Collection[int]) -> int:
    """Position of the core that workers get last."""
    return host.core_of[min(set(host.efficient) & set(allowed) or allowed)]


def _counts(undecided: Sequence[Topology], free: int) -> dict[Side, int]:
    """CPUs of each endpoint: one for each group of stages, or as many as its share of the groups if there are fewer CPUs, at least those without which its
    split would not be one."""
    wanted = {topology.side: len(groups(topology)) for topology in undecided}
    counts: dict[Side, int] = {}
    for position, topology in enumerate(undecided):
        later = undecided[position + 1 :]
        whole = wanted[topology.side] + sum(wanted[other.side] for other in later)
        share = -(-free * wanted[topology.side] // whole)
        most = free - sum(least_cpus_of(other) for other in later)
        counts[topology.side] = min(wanted[topology.side], max(share, least_cpus_of(topology)), most)
        free -= counts[topology.side]
    return counts


def _teams(topologies: Sequence[Topology], positions: Mapping[Side, list[int]]) -> list[list[tuple[Seat, list[Seat]]]]:
    """Seats that are connected by packets, each with those that it exchanges packets with; in each team neighbours follow each other.
    `positions`: the named CPUs of a side, or a number for each that it will have."""
    owner = {
        (topology.side, stage.stage, stage.index): (topology.side, positions[topology.side].index(stage.cpu))
        for topology in topologies
        for stage in stages_on(topology, positions[topology.side])
    }
    partners: dict[Seat, list[Seat]] = {
        (side, position): [] for side, of_side in positions.items() for position in range(len(of_side))
    }
    for a, b in exchanging(topologies, owner):
        partners[a].append(b)
        partners[b].append(a)
    teams, seen = [], set()
    for first in partners:
        if first in seen:
            continue
        team = [first]
        seen.add(first)
        for seat in team:
            new = [partner for partner in partners[seat] if partner not in seen]
            seen.update(new)
            team += new
        teams.append([(seat, partners[seat]) for seat in team])
    return teams


@dataclass
class _Seats:
    host: CpuTopology
    free: list[int]
    house: int
    nic_nodes: Mapping[Side, int]
    used: set[int]
    """CPUs that a thread polls."""
    cpu_of: dict[Seat, int] = field(default_factory=dict)

    def place(self, teams: Iterable[Sequence[tuple[Seat, Sequence[Seat]]]]) -> None:
        for team in teams:
            l3 = None
            for position, (seat, partners) in enumerate(team):
                if seat in self.cpu_of:
                    continue
                near = [self.cpu_of[partner] for partner in partners if partner in self.cpu_of]
                if l3 is None or not self._idle_cores(l3):
                    to_place = sum(later not in self.cpu_of for later, _ in team[position:])
                    l3 = self._l3(seat, near, to_place)
                cpu = self._cpu(seat, near, l3)
                self.cpu_of[seat] = cpu
                self.used.add(cpu)
                self.free.remove(cpu)

    def _idle_cores(self, l3: int) -> int:
        """Cores of an L3 for one more worker each."""
        cores = {self.host.core_of[cpu] for cpu in self.free if self.host.l3_of[cpu] == l3}
        return len(cores - {self.host.core_of[cpu] for cpu in self.used} - {self.house})

    def _l3(self, seat: Seat, near: Sequence[int], size: int) -> int:
        """The L3 for the next `size` workers: one that has idle cores for all, or else that with the most."""
        with_partners = {self.host.l3_of[cpu] for cpu in near}
        with_workers = {self.host.l3_of[cpu] for cpu in self.cpu_of.values()}

        def rank(l3: int) -> tuple[object, ...]:
            cpus = [cpu for cpu in self.free if self.host.l3_of[cpu] == l3]
            idle = min(self._idle_cores(l3), size)
            return (
                not idle,
                self._is_off_node(seat, cpus[0]),
                -idle,
                l3 not in with_partners,
                l3 not in with_workers,
                -cpus[-1],
            )

        return min({self.host.l3_of[cpu] for cpu in self.free}, key=rank)

    def _cpu(self, seat: Seat, near: Sequence[int], l3: int) -> int:
        host = self.host
        busy = {host.core_of[cpu] for cpu in self.used}
        cores_of_partners = {host.core_of[cpu] for cpu in near}
        node = next((host.node_of.get(cpu) for cpu in host.l3s[l3]), None)

        def rank(cpu: int) -> tuple[object, ...]:
            core = host.core_of[cpu]
            return (
                core in cores_of_partners,
                core in busy,
                core == self.house,
                cpu in host.efficient,
                self._is_off_node(seat, cpu),
                host.l3_of[cpu] != l3,
                host.node_of.get(cpu) != node,
                -host.cores[core][0],
                cpu,
            )

        return min(self.free, key=rank)

    def _is_off_node(self, seat: Seat, cpu: int) -> bool:
        node = self.nic_nodes.get(seat[0])
        return node is not None and self.host.node_of.get(cpu, node) != node
