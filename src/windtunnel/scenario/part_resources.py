"""What parts need of a run beside its stages: CPUs, devices, memory, mbufs.

Each comes from the modules `resources` of the parts, which have those of these functions that they need.
"""

from collections.abc import Collection, Sequence
from typing import Any

from windtunnel.engine.plan_values import Side
from windtunnel.part_registry import part_functions
from windtunnel.scenario.host import HostView
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.refusal import Path
from windtunnel.scenario.topology import Topology


def check(scenario: Scenario, index: int) -> None:
    """Raises Refusal for what a workload asks of a part and cannot have."""
    for of_part in part_functions("resources", "check"):
        of_part(scenario, index)


def check_workers(scenario: Scenario, cpus: Sequence[int]) -> None:
    """`cpus`: of the workers. Raises Refusal if there are too many."""
    for of_part in part_functions("resources", "check_workers"):
        of_part(scenario, cpus)


def reserved_cpus(scenario: Scenario, topologies: Sequence[Topology], allowed: Sequence[int]) -> list[int]:
    """CPUs that are kept for threads of parts."""
    return [
        cpu
        for of_part in part_functions("resources", "reserved_cpus")
        for cpu in of_part(scenario, topologies, allowed)
    ]


def threads(scenario: Scenario, topologies: Sequence[Topology]) -> int:
    """Threads that parts have beside the workers."""
    return sum(of_part(scenario, topologies) for of_part in part_functions("resources", "threads"))


def devices(scenario: Scenario, sides: Sequence[Side]) -> list[str]:
    """PCI addresses of devices that these sides name: EAL looks for no others."""
    return [address for of_part in part_functions("resources", "devices") for address in of_part(scenario, sides)]


def memory_bytes(scenario: Scenario, side: Side, host: HostView) -> int:
    """Memory of an endpoint beside its pools. Raises Refusal if the host has not so much."""
    return sum(of_part(scenario, side, host) for of_part in part_functions("resources", "memory_bytes"))


def mbufs(scenario: Scenario, topology: Topology) -> dict[str, int]:
    """mbufs that parts can hold, by owner."""
    return {
        owner: count
        for of_part in part_functions("resources", "mbufs")
        for owner, count in of_part(scenario, topology).items()
    }


def mbufs_of_packet(scenario: Scenario, index: int) -> int:
    """mbufs of a packet of a request that the client sends."""
    return max((of_part(scenario, index) for of_part in part_functions("resources", "mbufs_of_packet")), default=1)


def makes_chains(scenario: Scenario) -> bool:
    """Whether the client sends packets of several mbufs."""
    return any(of_part(scenario) for of_part in part_functions("resources", "makes_chains"))


def background_keys(scenario: Scenario, index: int) -> list[Path]:
    """Keys of a workload for which a thread of a part works beside the workers while packets flow."""
    return [path for of_part in part_functions("resources", "background_keys") for path in of_part(scenario, index)]


def plan_fields(scenario: Scenario, index: int, lcores: Sequence[int], free_cpu: int | None) -> dict[str, Any]:
    """What parts add to a workload of the plan; `lcores`: of their threads; `free_cpu`: a CPU without a worker. Raises Refusal."""
    return {
        key: value
        for of_part in part_functions("resources", "plan_fields")
        for key, value in of_part(scenario, index, lcores, free_cpu).items()
    }


def notes(scenario: Scenario, workers: Collection[int], reserved: Sequence[int], free_cpu: int | None) -> list[str]:
    """What a reader of the results must know; `workers`: their CPUs; `free_cpu`: one without a worker."""
    return [
        note
        for of_part in part_functions("resources", "notes")
        for note in of_part(scenario, workers, reserved, free_cpu)
    ]
