"""Endpoints and workloads in the engine's words: every default decided, every number in its base unit."""

from collections.abc import Sequence

from windtunnel.engine import plan as plans
from windtunnel.scenario import wires
from windtunnel.scenario.handlers import plan_handler
from windtunnel.scenario.keys import Client, Scenario, Server
from windtunnel.scenario.loads import plan_load
from windtunnel.scenario.memory import data_room_bytes
from windtunnel.scenario.part_resources import makes_chains, plan_fields
from windtunnel.scenario.sizes import plan_sizes
from windtunnel.scenario.topology import Topology, endpoint, request_bytes, response_bytes, topologies, workload_names
from windtunnel.scenario.variants import widened


def plan_endpoint(scenario: Scenario, topology: Topology, pool_size: int, socket: str | None) -> plans.Endpoint:
    """One endpoint with a pool of `pool_size` mbufs; `socket`: the place at which two processes find each other."""
    keys = topology.keys
    client = keys if isinstance(keys, Client) else None
    peer_ip, peer_port = _peer(scenario, client)
    return plans.Endpoint(
        side=topology.side,
        ip=keys.ip,
        mac=None if keys.mac == "nic" else keys.mac,
        peer_ip=peer_ip,
        peer_mac=_peer_mac(scenario, client) if client else None,
        udp_port=keys.port,
        peer_udp_port=peer_port,
        mtu=keys.mtu,
        vlan=plans.Vlan(id=keys.vlan, priority=keys.vlan_priority) if keys.vlan else None,
        pool=plans.Pool(
            size=pool_size,
            cache=keys.mempool.cache,
            ops=keys.mempool.ops,
            data_room_bytes=data_room_bytes(keys.mtu),
        ),
        port=_port(scenario, topology, socket),
        batch=plans.Batch(**keys.batch.model_dump()),
        ring_size=keys.ring_size,
        response_mbuf=keys.response_mbuf if isinstance(keys, Server) else "request",
        applications=list(topology.applications),
        dispatchers=list(topology.dispatchers),
    )


def _peer(scenario: Scenario, client: Client | None) -> tuple[str | None, int | None]:
    """IP and port to which requests go. Responses go to the sender of a request's frame; on a wire without frames, to the client's address."""
    server = endpoint(scenario, "server") or Server()
    if client:
        return client.peer_ip or server.ip, client.peer_port or server.port
    asking = endpoint(scenario, "client") if wires.has(scenario, "unframed") else None
    return (asking.ip, asking.port) if asking else (None, None)


def _peer_mac(scenario: Scenario, client: Client) -> str | None:
    """The server's MAC. None: the engine asks for it, from a foreign peer, if there can be one, or from a server that has its NIC's."""
    ours = endpoint(scenario, "server")
    if client.peer_mac != "auto":
        return None if client.peer_mac == "resolve" else client.peer_mac
    if ours is None and wires.has(scenario, "foreign_peer"):
        return None
    mac = (ours or Server()).mac
    return None if mac == "nic" else mac


def _port(scenario: Scenario, topology: Topology, socket: str | None) -> plans.Port:
    keys, wire = topology.keys, scenario.wire
    faults = wire.faults if wire.faults and (wire.faults.loss or wire.faults.duplicate or wire.faults.reorder) else None
    return plans.Port(
        wire=wire.kind,
        traits=wires.traits(scenario),
        options=wires.plan_options(scenario, keys, socket),
        queues=len(topology.dispatchers),
        rx_descriptors=keys.rx_descriptors,
        tx_descriptors=keys.tx_descriptors,
        rx_free_thresh=keys.thresholds.rx_free,
        tx_free_thresh=keys.thresholds.tx_free,
        tx_rs_thresh=keys.thresholds.tx_rs,
        udp_checksum=wire.udp_checksum,
        chains=topology.side == "client" and makes_chains(scenario),
        faults=plans.Faults(**faults.model_dump()) if faults else None,
        link=plans.Link(bits_per_s=link.rate, delay_ns=link.delay, queue=link.queue) if (link := wire.link) else None,
    )


def plan_workload(
    scenario: Scenario,
    index: int,
    asked: bool,
    reserved_lcores: Sequence[int],
    free_cpu: int | None,
    variants: plans.Variants | None,
) -> plans.Workload:
    """One workload; `asked` if the plan's process has the client that asks. `reserved_lcores`: for threads of parts; `free_cpu`: a CPU
    without a worker."""
    workload = scenario.workload[index]
    asking = [
        app for side in topologies(scenario) if side.side == "client" for app in widened(side, variants).applications
    ]
    client = endpoint(scenario, "client")
    return plans.Workload(
        name=workload_names(scenario)[index],
        request_bytes=request_bytes(scenario, index),
        response_bytes=response_bytes(scenario, index),
        request_sizes=plan_sizes(scenario, index, "request"),
        response_sizes=plan_sizes(scenario, index, "response"),
        **plan_fields(scenario, index, reserved_lcores, free_cpu),
        handler=plan_handler(scenario, index, "message"),
        packet_handler=plan_handler(scenario, index, "packet"),
        scan=workload.scan,
        extra_ticks=workload.extra_ticks,
        timeout_ns=workload.timeout,
        load=plan_load(scenario, client, index) if asked and isinstance(client, Client) else None,
        client_applications=len(asking),
        client_slots=max((app.inflight for app in asking if app.workload == index), default=0),
    )
