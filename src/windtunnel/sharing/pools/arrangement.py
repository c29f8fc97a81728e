"""A plan with the threads of this moment: who is where, with which weight. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from windtunnel.sharing.pools.plan import Plan


@dataclass(frozen=True, slots=True)
class Crew:
    """The threads of a tenant. `busy` are those that want CPU: among them its weight is divided, as Xen divides it among active vCPUs."""

    name: str
    tids: tuple[int, ...]
    busy: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Arrangement:
    """`turns`: the weight of each thread, by CPU of `ls`. `be`: the CPUs that its threads may use; `spare`: only when they are idle."""

    turns: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    be: Mapping[int, frozenset[int]] = field(default_factory=dict)
    spare: bool = False
    groups: Mapping[int, str] = field(default_factory=dict)
    """The tenant that each thread of `ls` belongs to."""


def arrange(plan: Plan, crews: Mapping[str, Crew], be: Iterable[Crew]) -> Arrangement:
    """`crews` are the tenants of the plan, `be` the others."""
    turns: dict[int, dict[int, int]] = {cpu: {} for cpu in plan.ls}
    groups = {}
    for (name, number), lane in plan.lanes.items():
        crew = crews[name]
        lanes = sum(key[0] == name for key in plan.lanes) if number or len(plan.lanes) > len(crews) else 1
        mine = crew.tids[number::lanes]
        busy = sum(tid in crew.busy for tid in mine) or len(mine)
        for tid in mine:
            turns[plan.places[name, number]][tid] = max(1, lane.weight // busy)
            groups[tid] = name
    spare = not plan.be
    cpus = frozenset(plan.be or plan.ls)
    return Arrangement(turns, {tid: cpus for crew in be for tid in crew.tids}, spare, groups)
