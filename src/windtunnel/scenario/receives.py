"""What may be on its way to an end of a wire without frames, against the receives that it posts there."""

from collections.abc import Iterator

from windtunnel.scenario import wires
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.topology import Topology, request_bytes, response_bytes, segments, topologies


def few_receives(scenario: Scenario) -> Iterator[str]:
    """A note for each end with fewer posted receives than packets that the budget lets be on their way to it."""
    if not wires.has(scenario, "unframed") or not wires.sends_packets(scenario):
        return
    asking = [side for side in topologies(scenario) if side.side == "client"]
    for end in topologies(scenario):
        most, posted = _under_way(scenario, end, asking), len(end.dispatchers) * end.keys.rx_descriptors
        if most > posted:
            fate = "are lost" if wires.is_lossy(scenario) else "wait in the provider"
            yield (
                f"up to {most} packets may be on their way to the {end.side}, which posts {posted} receives: "
                f"the others {fate}"
            )


def _under_way(scenario: Scenario, end: Topology, asking: list[Topology]) -> int:
    size = request_bytes if end.side == "server" else response_bytes
    return sum(
        application.inflight * segments(size(scenario, application.workload), end.keys)
        for side in asking
        for application in side.applications
    )
