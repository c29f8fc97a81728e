"""Endpoints and workloads in the engine's words: every default decided, every number in its base unit."""

from typing import get_args

from windtunnel.engine import plan as plans
from windtunnel.scenario.handlers import plan_handler
from windtunnel.scenario.keys import Client, Scenario, Server
from windtunnel.scenario.loads import plan_load
from windtunnel.scenario.match_tables import plan_pipeline
from windtunnel.scenario.memory import HEADROOM_BYTES, data_room_bytes
from windtunnel.scenario.sizes import plan_sizes
from windtunnel.scenario.topology import (
    Topology,
    endpoint,
    request_bytes,
    response_bytes,
    topologies,
    workload_names,
)

DEFAULT_PACKET_BYTES = 64


def plan_endpoint(scenario: Scenario, topology: Topology, pool_size: int, socket: str | None) -> plans.Endpoint:
    """One endpoint with a pool of `pool_size` mbufs; `socket` is memif's."""
    keys = topology.keys
    client = keys if isinstance(keys, Client) else None
    return plans.Endpoint(
        side=topology.side,
        ip=keys.ip,
        mac=keys.mac,
        **_peer(scenario, client),
        udp_port=keys.port,
        mtu=keys.mtu,
        pool=plans.Pool(
            size=pool_size,
            cache=keys.mempool.cache,
            ops=keys.mempool.ops,
            data_room_bytes=data_room_bytes(keys.mtu),
        ),
        port=_port(scenario, topology, socket),
        batch=plans.Batch(**keys.batch.model_dump()),
        ring_size=keys.ring_size,
        answer_in=keys.answer if isinstance(keys, Server) else "request",
        applications=list(topology.applications),
        dispatchers=list(topology.dispatchers),
    )


def _peer(scenario: Scenario, client: Client | None) -> dict[str, str | int | None]:
    """Where the client's requests go. A stranger is asked for its MAC; on the null wire nobody could answer."""
    if client is None:
        return {"peer_ip": None, "peer_mac": None, "peer_udp_port": None}
    ours = endpoint(scenario, "server")
    server = ours or Server()
    mac = client.peer_mac
    if mac == "auto":
        mac = server.mac if ours is not None or scenario.wire.kind == "null" else "resolve"
    return {
        "peer_ip": client.peer_ip or server.ip,
        "peer_mac": None if mac == "resolve" else mac,
        "peer_udp_port": client.peer_port or server.port,
    }


def _port(scenario: Scenario, topology: Topology, socket: str | None) -> plans.Port:
    keys, wire = topology.keys, scenario.wire
    null, memif = wire.kind == "null", wire.kind == "memif"
    planted = (
        wire.faults if wire.faults and (wire.faults.loss or wire.faults.duplicate or wire.faults.reorder) else None
    )
    return plans.Port(
        kind=wire.kind,
        queues=len(topology.dispatchers),
        rx_descriptors=keys.rx_descriptors,
        tx_descriptors=keys.tx_descriptors,
        rx_free_thresh=keys.thresholds.rx_free,
        tx_free_thresh=keys.thresholds.tx_free,
        tx_rs_thresh=keys.thresholds.tx_rs,
        packet_bytes=(wire.packet or DEFAULT_PACKET_BYTES) if null else None,
        copy_bytes=wire.copy_bytes is not False if null else None,
        pace=(wire.pace or "speed") if wire.kind == "pcap" else None,
        replay=str((scenario.source.file.parent / wire.replay).resolve()) if wire.replay else None,
        interface=keys.interface,
        socket=socket,
        memif_role=topology.side if memif else None,
        memif_buffer_bytes=data_room_bytes(keys.mtu) - HEADROOM_BYTES if memif else None,
        nic=_nic(keys) if wire.kind == "pci" else None,
        udp_checksum=wire.udp_checksum,
        faults=plans.Faults(**planted.model_dump()) if planted else None,
        link=plans.Link(bits_per_s=link.rate, delay_ns=link.delay, queue=link.queue) if (link := wire.link) else None,
    )


def _nic(keys: Client | Server) -> plans.Nic:
    assert keys.pci is not None
    offloads = list(get_args(plans.Offload)) if keys.offloads is None else keys.offloads
    return plans.Nic(address=keys.pci, steering=keys.steering or "auto", offloads=offloads)


def _packet_handler(scenario: Scenario, index: int, change_cpu: int | None) -> plans.Handler | None:
    handler = plan_handler(scenario, index, "packet")
    if handler is None or not scenario.workload[index].table:
        return handler
    pipeline = plan_pipeline(scenario, index, change_cpu)
    return handler.model_copy(update={"options": {"pipeline": pipeline.model_dump_json()}})


def plan_workload(scenario: Scenario, index: int, asked: bool, change_cpu: int | None) -> plans.Workload:
    """One workload; `asked` where the plan's process has the client that asks. `change_cpu`: free for changing tables."""
    workload = scenario.workload[index]
    asking = [app for side in topologies(scenario) if side.side == "client" for app in side.applications]
    client = endpoint(scenario, "client")
    return plans.Workload(
        name=workload_names(scenario)[index],
        request_bytes=request_bytes(scenario, index),
        response_bytes=response_bytes(scenario, index),
        request_sizes=plan_sizes(scenario, index, "request"),
        response_sizes=plan_sizes(scenario, index, "response"),
        handler=plan_handler(scenario, index, "message"),
        packet_handler=_packet_handler(scenario, index, change_cpu),
        scan=workload.scan,
        extra_ticks=workload.extra_ticks,
        timeout_ns=workload.timeout,
        load=plan_load(scenario, client, index) if asked and isinstance(client, Client) else None,
        client_applications=len(asking),
        client_slots=max((app.inflight for app in asking if app.workload == index), default=0),
    )
