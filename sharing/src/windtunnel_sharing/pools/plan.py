"""From weights to CPUs. Pure: the same shares, machine and plan before give the same plan."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from windtunnel.api.errors import UserError
from windtunnel_sharing.pools.placement import Key, Lane, place
from windtunnel_sharing.pools.weights import CPU_WEIGHT, MOST_WEIGHT, Share, dedicated, lanes

MOST_TIMES = MOST_WEIGHT // CPU_WEIGHT
"""A lane has the weight of one CPU at most."""


@dataclass(frozen=True)
class Machine:
    """The CPUs to share. `ls` takes them from the end; the first `be_least` always stay with `be`."""

    cpus: tuple[int, ...]
    be_least: int = 1

    @property
    def ls_most(self) -> int:
        return len(self.cpus) - self.be_least


@dataclass(frozen=True)
class Plan:
    """Who is where. `be` is empty where `ls` has every CPU: then its tenants run on all of them, after everybody else."""

    ls: tuple[int, ...]
    be: tuple[int, ...]
    lanes: Mapping[Key, Lane] = field(default_factory=dict)
    places: Mapping[Key, int] = field(default_factory=dict)

    def loads(self) -> dict[int, int]:
        """Weight on each CPU of `ls`."""
        loads = dict.fromkeys(self.ls, 0)
        for key, cpu in self.places.items():
            loads[cpu] += self.lanes[key].weight
        return loads

    def overfull(self) -> dict[int, int]:
        """CPUs whose weights are above 256, which whole lanes cannot always avoid: there a weight buys less than w / 256."""
        return {cpu: load for cpu, load in self.loads().items() if load > CPU_WEIGHT}


def entitled(plan: Plan, loads: dict[int, int], name: str) -> float:
    """CPUs that a tenant gets while everybody has work."""
    return sum(plan.lanes[key].weight / loads[cpu] for key, cpu in plan.places.items() if key[0] == name)


def plan(shares: Iterable[Share], machine: Machine, previous: Plan | None = None) -> Plan:
    """The plan for these tenants of `ls`; without any, all CPUs are `be`'s.

    Raises UserError where the weights need more than there is.
    """
    shares = list(shares)
    if not shares:
        return Plan((), machine.cpus)
    count = check_room(shares, machine)
    split = len(machine.cpus) - count
    ls = tuple(reversed(machine.cpus[split:]))
    wanted = [Lane((share.name, n), weight) for share in shares for n, weight in enumerate(lanes(share.weight))]
    places = place(wanted, ls, previous.places if previous else {})
    return Plan(ls, machine.cpus[:split], {lane.key: lane for lane in wanted}, places)


def check_room(shares: Iterable[Share], machine: Machine) -> int:
    """CPUs that these tenants need. Raises UserError where there are not so many, or where a weight is more than a tenant can use."""
    shares = list(shares)
    for share in shares:
        if share.weight > CPU_WEIGHT * max(1, share.threads):
            raise UserError(
                f"{share.name}: a weight of {share.weight} is {share.weight / CPU_WEIGHT:.4g} CPUs, "
                f"and its {share.threads} {'thread' if share.threads == 1 else 'threads'} can use {share.threads}",
                remedy=f"at most {CPU_WEIGHT * max(1, share.threads)}: {CPU_WEIGHT} is one CPU",
            )
    total = sum(share.weight for share in shares)
    count = dedicated(total)
    if count > machine.ls_most:
        rest = f", because {machine.be_least} of {len(machine.cpus)} stay with be" if machine.be_least else ""
        raise UserError(
            f"weights of {total} need {count} CPUs, and ls has at most {machine.ls_most}{rest}",
            remedy=f"weights of at most {CPU_WEIGHT * machine.ls_most} together: {CPU_WEIGHT} is one CPU",
        )
    return count


@dataclass(frozen=True, slots=True)
class Crew:
    """The threads of a tenant. `busy` are those that want CPU: among them its weight is divided, as Xen divides it among active vCPUs. Without any,
    among all."""

    name: str
    tids: tuple[int, ...]
    busy: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Arrangement:
    """`turns`: the weight of each thread beside the others of its CPU, by CPU of `ls`. `be`: the CPUs that its threads may use; `spare`: only when they are idle."""

    turns: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    be: Mapping[int, frozenset[int]] = field(default_factory=dict)
    spare: bool = False
    groups: Mapping[int, str] = field(default_factory=dict)
    """The tenant that each thread of `ls` belongs to."""


def arrange(plan: Plan, crews: Mapping[str, Crew], be: Iterable[Crew]) -> Arrangement:
    """`crews` are the tenants of the plan, `be` the others."""
    parts: dict[int, list[_Part]] = {cpu: [] for cpu in plan.ls}
    groups: dict[int, str] = {}
    for (name, number), lane in plan.lanes.items():
        crew = crews[name]
        lanes = sum(key[0] == name for key in plan.lanes) if number or len(plan.lanes) > len(crews) else 1
        mine = crew.tids[number::lanes]
        parts[plan.places[name, number]].append(_Part(lane.weight, mine, frozenset(mine) & crew.busy))
        groups |= dict.fromkeys(mine, name)
    turns = {cpu: _turns(here) for cpu, here in parts.items()}
    spare = not plan.be
    cpus = frozenset(plan.be or plan.ls)
    return Arrangement(turns, {tid: cpus for crew in be for tid in crew.tids}, spare, groups)


@dataclass(frozen=True)
class _Part:
    """A lane of a tenant, with its threads, and those of them that want CPU."""

    weight: int
    tids: tuple[int, ...]
    busy: frozenset[int]

    def divided(self, tid: int) -> int:
        """By how many its weight is divided for a thread. Those that want no CPU get what they would have if all wanted it: together with the
        others, no more than the weight once more, however many there are, and whenever they wake."""
        return len(self.busy) if tid in self.busy else len(self.tids)


def _turns(parts: list[_Part]) -> dict[int, int]:
    """The weight of each thread on one CPU, where nothing but their ratios counts: they are multiplied until the whole numbers are near enough,
    since a weight of 1 for each of hundreds of threads is more than their tenant's."""
    times = 1
    while times < MOST_TIMES and any(_is_coarse(part.weight * times, len(part.tids)) for part in parts):
        times *= 2
    return {tid: max(1, part.weight * times // part.divided(tid)) for part in parts for tid in part.tids}


def _is_coarse(weight: int, among: int) -> bool:
    """Whether whole numbers lose more than a sixteenth of a weight that is divided."""
    return bool(among) and (weight // among) * among * 16 < weight * 15
