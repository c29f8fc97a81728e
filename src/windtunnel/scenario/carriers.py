"""What carries a workload's traffic: messages over UDP, or what a part brings in their place."""

from types import ModuleType

from windtunnel.part_registry import part_modules
from windtunnel.scenario.keys import Scenario, Workload


def carrier_of(workload: Workload) -> ModuleType | None:
    """The module `traffic` of the part that carries this workload; None: messages over UDP.

    It has: `NAME`, of a workload without one; `RELIABLE`, whether what is lost is sent again; `carries(workload)`; `check(scenario, index)` and
    `check_endpoint(scenario, topology)`, which raise Refusal; `most_in_flight(workload)`; `mbufs_of_message(workload, mtu, by_copy)`;
    `longest_call_ns(workload)`, of a call that counts as work."""
    return next((part for part in part_modules("traffic") if part.carries(workload)), None)


def all_reliable(scenario: Scenario) -> bool:
    """Whether what a side sends may be lost whoever the peer is, because it is sent again."""
    return all((carrier := carrier_of(workload)) and carrier.RELIABLE for workload in scenario.workload)
