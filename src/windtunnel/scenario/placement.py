"""Places stages on CPUs: explicitly, or on those of a list in turn.

There is one worker for each CPU, and there are as many as there are groups of stages that may part. A colocated application is one
group with its dispatcher; a split one is a group of its own, and so is its dispatcher. `windtunnel.scenario.cpu_choice` makes the list
if the scenario does not.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from windtunnel.engine.plan_values import Side, Stage
from windtunnel.scenario.refusal import Path, Refusal
from windtunnel.scenario.topology import Topology

MAX_WORKERS = 127
"""DPDK is built for 128 lcores (RTE_MAX_LCORE), one of which is the main one."""


@dataclass(frozen=True)
class Placed:
    """One stage on one CPU."""

    cpu: int
    side: Side
    stage: Stage
    index: int


@dataclass(frozen=True)
class Group:
    """Stages that stay on one CPU."""

    stages: tuple[tuple[Stage, int], ...]
    role: str
    """"both", "dispatcher" or "application"."""


def place(topologies: Sequence[Topology], cpus: Mapping[Side, Sequence[int]]) -> list[Placed]:
    """Every stage of every endpoint once, in the order of the loops, on the CPUs of its side. Raises Refusal."""
    placed = [stage for topology in topologies for stage in stages_on(topology, list(cpus[topology.side]))]
    if len({stage.cpu for stage in placed}) > MAX_WORKERS:
        raise Refusal(
            ("server", "cores"), f"more than {MAX_WORKERS} workers", "fewer cores: DPDK is built for 128 lcores"
        )
    return placed


def crossings(topology: Topology, placed: Sequence[Placed]) -> int:
    """Connections inside dispatchers that cross workers: each needs a ring."""
    cpu = {(stage.stage, stage.index): stage.cpu for stage in placed if stage.side == topology.side}
    pairs: tuple[tuple[Stage, Stage], ...] = (("nic_rx", "disp_rx"), ("disp_rx", "nic_tx"), ("disp_tx", "nic_tx"))
    return sum(
        (a, index) in cpu and cpu[a, index] != cpu[b, index]
        for index in range(len(topology.dispatchers))
        for a, b in pairs
    )


def fixed_cpus(topology: Topology) -> list[int]:
    """CPUs that the scenario names for the endpoint."""
    if topology.keys.worker:
        return [worker.core for worker in topology.keys.worker]
    return [] if isinstance(topology.keys.cores, str) else list(topology.keys.cores)


def check_cores_exist(topology: Topology, allowed: Sequence[int]) -> None:
    """Raises Refusal for a named CPU that is not among the allowed ones."""
    named: list[tuple[Path, int]] = [
        ((topology.side, "worker", n, "core"), worker.core) for n, worker in enumerate(topology.keys.worker)
    ]
    if not named:
        named = [((topology.side, "cores"), cpu) for cpu in fixed_cpus(topology)]
    for path, cpu in named:
        if cpu not in allowed:
            raise Refusal(
                path, f"{topology.side}: CPU {cpu} does not exist, or is not allowed", f"one of {cpu_list(allowed)}"
            )


def named_cpus(topologies: Sequence[Topology]) -> set[int]:
    """CPUs that the scenario names for workers."""
    return {cpu for topology in topologies for cpu in fixed_cpus(topology)}


def least_cpus(topologies: Sequence[Topology]) -> int:
    """CPUs without which endpoints whose CPUs are not named would share one."""
    return sum(least_cpus_of(topology) for topology in topologies if not fixed_cpus(topology))


def least_cpus_of(topology: Topology) -> int:
    """CPUs without which the endpoint's split would not be one."""
    roles = {group.role for group in groups(topology)}
    return 2 if {"dispatcher", "application"} <= roles else 1


def groups(topology: Topology) -> list[Group]:
    """Dispatchers that stand alone, applications that stand alone, and those that sit together."""
    owner: dict[int, int] = {}  # dispatcher -> the application that it sits with
    for index, application in enumerate(topology.applications):
        if topology.colocated[application.workload]:
            for dispatcher in application.dispatchers:
                owner.setdefault(dispatcher, index)
    groups = []
    for index, application in enumerate(topology.applications):
        own = {dispatcher for dispatcher, app in owner.items() if app == index}
        stages = [s for s in topology.stages if s[1] in (own if _of_dispatcher(s[0]) else {index})]
        together = topology.colocated[application.workload]
        groups.append(Group(tuple(stages), "both" if together else "application"))
    for index in range(len(topology.dispatchers)):
        if index not in owner:
            stages = [s for s in topology.stages if _of_dispatcher(s[0]) and s[1] == index]
            groups.append(Group(tuple(stages), "dispatcher"))
    return sorted(groups, key=lambda group: ("both", "dispatcher", "application").index(group.role))


def stages_on(topology: Topology, cpus: Sequence[int]) -> list[Placed]:
    """Every stage of an endpoint once, in the order of the loops. Raises Refusal for workers by hand that leave one out or have it twice."""
    if topology.keys.worker:
        return _by_hand(topology)
    cpu_of: dict[tuple[Stage, int], int] = {}
    for group, cpu in _assign(groups(topology), cpus):
        cpu_of |= dict.fromkeys(group.stages, cpu)
    return [Placed(cpu_of[stage], topology.side, *stage) for stage in topology.stages]


def _assign(groups: Sequence[Group], cpus: Sequence[int]) -> list[tuple[Group, int]]:
    """Groups to CPUs in turn; dispatchers and applications of a split stay apart as long as there are two CPUs."""
    if len(groups) <= len(cpus):
        return list(zip(groups, cpus, strict=False))
    apart = {role: [group for group in groups if group.role == role] for role in ("both", "dispatcher", "application")}
    lone = len(apart["dispatcher"]), len(apart["application"])
    if not all(lone) or len(cpus) < 2:
        return [(group, cpus[n % len(cpus)]) for n, group in enumerate(groups)]
    first = min(max(1, round(len(cpus) * lone[0] / sum(lone))), len(cpus) - 1)
    parts = {"both": cpus, "dispatcher": cpus[:first], "application": cpus[first:]}
    return [(group, parts[role][n % len(parts[role])]) for role in parts for n, group in enumerate(apart[role])]


def _by_hand(topology: Topology) -> list[Placed]:
    side, needed = topology.side, topology.stages
    placed: dict[tuple[Stage, int], Placed] = {}
    for number, worker in enumerate(topology.keys.worker):
        for position, name in enumerate(worker.stages):
            path: Path = (side, "worker", number, "stages", position)
            stage, index = _split(name)
            if (stage, index) not in needed:
                raise Refusal(path, f"{side} has no stage {name}", f"one of {_names(needed)}")
            if (stage, index) in placed:
                raise Refusal(
                    path,
                    f"{side}: {name} is placed twice, so that {_queue(stage, index)} would have two consumers or two producers",
                    f"{name} on one worker: a ring or queue has one consumer and one producer",
                )
            placed[stage, index] = Placed(worker.core, side, stage, index)
    if missing := [stage for stage in needed if stage not in placed]:
        raise Refusal((side, "worker"), f"{side}: no worker runs {_names(missing)}", "every stage on one worker")
    return list(placed.values())


def _queue(stage: Stage, index: int) -> str:
    return f"the rings of application {index}" if stage.startswith("app_") else f"queue {index}"


def _split(name: str) -> tuple[Stage, int]:
    stage, _, index = name.partition(":")
    return cast(Stage, stage), int(index)  # keys.StageName has checked it


def _names(stages: Sequence[tuple[Stage, int]]) -> str:
    return ", ".join(f"{stage}:{index}" for stage, index in stages)


def _of_dispatcher(stage: Stage) -> bool:
    return not stage.startswith("app_")


def cpu_list(cpus: Iterable[int]) -> str:
    """`0-3,8`: ascending CPUs as taskset and --lcores write them."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
