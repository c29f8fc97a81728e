"""The other side may run on this host, too, in a process of its own: which CPUs its workers, or those of any engine, have."""

from windtunnel.scenario import wires
from windtunnel.scenario.host import HostView
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.one_side import OneSide
from windtunnel.scenario.placement import Placed, cpu_list


def engines_cpus(scenario: Scenario, host: HostView, one_side: OneSide | None) -> set[int]:
    """CPUs of other engines, if one side runs alone. Ends that share a host by their wire divide its CPUs without a look."""
    return host.engines_cpus() if one_side and not wires.has(scenario, "process_each") else set()


def shared_with_engines(placed: list[Placed], taken: set[int]) -> list[str]:
    """A note if this run's workers are on CPUs that other engines have."""
    shared = taken & {stage.cpu for stage in placed}
    return [f"CPU {cpu_list(shared)} has a worker of another engine: both will be preempted"] if shared else []
