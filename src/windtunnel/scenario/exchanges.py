"""Which stages hand packets to which: the way of a packet through the stages of a run."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from windtunnel.engine.plan_values import Side, Stage
from windtunnel.scenario.topology import Topology

StageOfSide = tuple[Side, Stage, int]
"""Side, stage and index."""
T = TypeVar("T")


def exchanging(topologies: Sequence[Topology], owner: Mapping[StageOfSide, T]) -> list[tuple[T, T]]:
    """Pairs of owners whose stages hand packets to each other, each pair once. `owner`: who has a stage, as its CPU or worker; a
    stage without one is left out."""
    pairs: dict[frozenset[T], tuple[T, T]] = {}
    for topology in topologies:
        for giving, taking in (
            _within(topology) if topology.side == "server" else (*_within(topology), *_between(topology))
        ):
            a, b = owner.get(giving), owner.get(taking)
            if a is not None and b is not None and a != b:
                pairs.setdefault(frozenset((a, b)), (a, b))
    return list(pairs.values())


def _within(topology: Topology) -> Iterator[tuple[StageOfSide, StageOfSide]]:
    side = topology.side
    served = {d for application in topology.applications for d in application.dispatchers}
    for d in range(len(topology.dispatchers)):
        yield (side, "nic_rx", d), (side, "disp_rx", d)
        # without an application a packet handler turns packets around
        yield (side, "disp_tx" if d in served else "disp_rx", d), (side, "nic_tx", d)
    for a, application in enumerate(topology.applications):
        for d in application.dispatchers:
            yield (side, "disp_rx", d), (side, "app_rx", a)
            yield (side, "app_rx" if side == "server" else "app_tx", a), (side, "disp_tx", d)


def _between(client: Topology) -> Iterator[tuple[StageOfSide, StageOfSide]]:
    for d, dispatcher in enumerate(client.dispatchers):
        for peer in dispatcher.peers:
            yield ("client", "nic_tx", d), ("server", "nic_rx", peer)
            yield ("server", "nic_tx", peer), ("client", "nic_rx", d)
