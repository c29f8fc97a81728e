"""The mbuf demand of an endpoint: no traffic that the scenario allows can exhaust the pool.

The client's requests are its own mbufs; if mbufs change hands they travel as they are, otherwise the receiver has copies of
its own. Hand-over rings and descriptors can also hold messages that were given up, so they count beside the budget.
"""

from dataclasses import dataclass

from windtunnel.engine.plan import Variants
from windtunnel.engine.plan_values import PoolSize, ReorderDepth, Side, bounds
from windtunnel.scenario import part_resources, wires
from windtunnel.scenario.carriers import carrier_of
from windtunnel.scenario.frames import SMALLEST_FRAME_BYTES, tag_bytes
from windtunnel.scenario.keys import Client, Scenario, Server
from windtunnel.scenario.refusal import Refusal
from windtunnel.scenario.topology import (
    Topology,
    dispatchers_of,
    endpoint,
    request_bytes,
    response_bytes,
    segments,
    topologies,
)
from windtunnel.scenario.variants import widened

MAX_POOL = bounds(PoolSize)[1]
CACHE_FLUSH = 1.5
"""A worker's cache is flushed at one and a half times its size (rte_mempool's CACHE_FLUSHTHRESH_MULTIPLIER)."""
LINK_FRAMING_BYTES = 24
EARLY = 8
"""Packets that `nic_rx` receives without room, a queue, to know whether one waits (`most_early` in engine/stages/port_queue.h)."""
WAITING = 1
"""Packets of `disp_rx` that wait for room in the ring of one application."""
HELD_BACK = bounds(ReorderDepth)[1]
"""Packets that the wire's faults hold back at once, a queue."""


@dataclass(frozen=True)
class Demand:
    """mbufs by owner, and the size that was given or found for them."""

    mbufs: dict[str, int]
    size: int

    @property
    def total(self) -> int:
        return sum(self.mbufs.values())


def demand(
    scenario: Scenario,
    topology: Topology,
    workers: int,
    crossings: int,
    replayed: int,
    variants: Variants | None = None,
) -> Demand:
    """The demand for the pool of one endpoint that `workers` workers touch, `crossings` of whose dispatchers' hand-overs lie
    between workers; each queue keeps `replayed` frames of a capture. With `variants` it is that of the largest. Raises Refusal if it
    does not fit."""
    topology = widened(topology, variants)
    keys, in_flight = topology.keys, _budgets(scenario, variants)
    costs = zip(in_flight, _per_message(scenario, topology), strict=True)
    mbufs = {
        "in flight": sum(count * cost for count, cost in costs),
        "rings": (topology.rings + crossings) * (keys.ring_size - 1),
        "descriptors": _descriptors(scenario, topology),
        "caches": int(workers * CACHE_FLUSH * keys.mempool.cache),
        "replayed frames": len(topology.dispatchers) * replayed * scenario.descriptor.mbufs.frames,
        "bursts": _bursts(topology),
        **part_resources.mbufs(scenario, topology),
        "faults": _held_by_faults(scenario, topology),
    }
    mbufs["link"] = min(_held_by_link(scenario, keys), mbufs["in flight"])
    need = sum(mbufs.values())
    given = keys.mempool.size
    size = min((1 << need.bit_length()) - 1, MAX_POOL) if given == "auto" else given
    if need > size:
        raise _refusal(scenario, topology, need, size, mbufs["in flight"], in_flight)
    return Demand({owner: count for owner, count in mbufs.items() if count}, size)


def _budgets(scenario: Scenario, variants: Variants | None) -> list[int]:
    """Messages in flight by workload; a foreign peer has no slots here: its packets are only in rings and descriptors."""
    sending = [
        application
        for side in topologies(scenario)
        if side.side == "client"
        for application in widened(side, variants).applications
    ]
    return [sum(a.inflight for a in sending if a.workload == index) for index in range(len(scenario.workload))]


def _per_message(scenario: Scenario, topology: Topology) -> list[int]:
    """mbufs of this endpoint that one message in flight can hold."""
    by_copy = not wires.has(scenario, "moves_mbufs")
    costs = []
    for index, workload in enumerate(scenario.workload):
        if carrier := carrier_of(workload):
            costs.append(carrier.mbufs_of_message(workload, topology.keys.mtu, by_copy))
            continue
        request = segments(request_bytes(scenario, index), topology.keys)
        response = segments(response_bytes(scenario, index), topology.keys)
        if topology.side == "client":
            costs.append(request * part_resources.mbufs_of_packet(scenario, index) + (response if by_copy else 0))
        else:
            own_response = topology.keys.response_mbuf == "new" if isinstance(topology.keys, Server) else False
            reused = 0 if own_response else 1 if workload.request_sizes else request
            response = max(0, response - reused)
            costs.append((request if by_copy else 0) + (response if workload.handler else 0))
    return costs


def _descriptors(scenario: Scenario, topology: Topology) -> int:
    """Packets that wait in the queues of the wire, as its descriptor has them."""
    mbufs, keys = scenario.descriptor.mbufs, topology.keys
    own = mbufs.fixed + mbufs.rx * keys.rx_descriptors + mbufs.tx * keys.tx_descriptors
    side: Side = "client" if topology.side == "server" else "server"
    peer = endpoint(scenario, side)
    peers_queues = sum(dispatchers_of(workload, side) for workload in scenario.workload)
    of_peer = mbufs.peer_rx * peer.rx_descriptors * peers_queues if peer else 0
    return len(topology.dispatchers) * own + of_peer


def _bursts(topology: Topology) -> int:
    """One full burst in the hands of each stage, and what a dispatcher keeps without room to hand it on."""
    bursts: int = sum(getattr(topology.keys.batch, stage) for stage, _ in topology.stages)
    return bursts + len(topology.dispatchers) * (min(EARLY, topology.keys.batch.nic_rx) + WAITING)


def _held_by_faults(scenario: Scenario, topology: Topology) -> int:
    faults = scenario.wire.faults
    if faults is None:
        return 0
    held = HELD_BACK if faults.reorder else 0
    copies = topology.keys.batch.nic_tx if faults.duplicate else 0
    return len(topology.dispatchers) * (held + copies)


def _held_by_link(scenario: Scenario, keys: Client | Server) -> int:
    """Packets of messages that were given up while they were on the link; never more than may be in flight at once."""
    link = scenario.wire.link
    if link is None:
        return 0
    smallest_bits = 8 * (SMALLEST_FRAME_BYTES + tag_bytes(keys) + LINK_FRAMING_BYTES)
    under_way = link.delay * link.rate / 1e9 / smallest_bits if link.rate else MAX_POOL
    return link.queue + int(under_way) if link.delay or link.rate else 0


def _refusal(
    scenario: Scenario, topology: Topology, need: int, size: int, in_flight: int, budgets: list[int]
) -> Refusal:
    """Names the pool that would do, and the largest in-flight that fits the one that there is."""
    side, given = topology.side, topology.keys.mempool.size != "auto"
    remedies = [f"{side}.mempool.size = {(1 << need.bit_length()) - 1}"] if need <= MAX_POOL else []
    left = size - (need - in_flight)
    fitting = [count * left // max(1, in_flight) for count in budgets]
    if endpoint(scenario, "client") is not None and in_flight and min(fitting) >= 1:
        remedies.append(f"an inflight of at most {' and '.join(map(str, fitting))}")
    else:
        remedies.append("smaller rings, descriptors or caches")
    path = (side, "mempool", "size") if given else (side,)
    return Refusal(path, f"{side}: the traffic can hold {need} mbufs, the pool has {size}", ", or ".join(remedies))
