"""Checks of what the client offers: budgets and batches, a peer that fits, rates, messages that can be cut."""

from windtunnel.engine.plan_values import MAX_SEGMENTS, MESSAGE_HEADER_BYTES
from windtunnel.scenario.carriers import carrier_of
from windtunnel.scenario.frames import ip_udp_header_bytes
from windtunnel.scenario.keys import Client, Scenario, Server
from windtunnel.scenario.loads import check_load
from windtunnel.scenario.refusal import Path, Refusal
from windtunnel.scenario.topology import (
    Topology,
    endpoint,
    rates,
    request_bytes,
    response_bytes,
    segments,
)
from windtunnel.scenario.wires import has


def check_client(scenario: Scenario, topology: Topology, client: Client) -> None:
    """Raises Refusal for the first error."""
    _batches(scenario, topology, client)
    server = endpoint(scenario, "server")
    if isinstance(server, Server):
        _peers(scenario, topology, client, server)
    if has(scenario, "silent"):
        _without_response(scenario, topology, client)
    _messages(scenario, client)
    own = [workload.phase or workload.rate for workload in scenario.workload]
    if client.rate is not None and all(own):
        what = "client.rate has no effect: every workload has its own rate, or phases"
        raise Refusal(("client", "rate"), what, "remove client.rate, or the rate of a workload")
    for index in range(len(scenario.workload)):
        check_load(scenario, client, index)


def _batches(scenario: Scenario, topology: Topology, client: Client) -> None:
    batch = client.batch.app_tx
    for application in topology.applications:
        budget, workload = application.inflight, application.workload
        if batch > budget and carrier_of(scenario.workload[workload]) is None:
            remedy = f"client.batch.app_tx = {budget}, or a larger inflight"
            raise Refusal(
                _blamed(scenario, client, workload),
                f"client.batch.app_tx is {batch}, but an application of workload {workload} may have only {budget} messages "
                "in flight: a full batch can never be collected",
                remedy if budget else "a larger inflight, or fewer applications",
            )


def _blamed(scenario: Scenario, client: Client, workload: int) -> Path:
    """The key that the file sets: of a batch and a budget that conflict, one may be a default."""
    if scenario.workload[workload].inflight is not None:
        return "workload", workload, "inflight"
    return ("client", "batch", "app_tx") if "app_tx" in client.batch.model_fields_set else ("client", "inflight")


def _peers(scenario: Scenario, topology: Topology, client: Client, server: Server) -> None:
    if client.mtu != server.mtu:
        what = f"client.mtu is {client.mtu}, server.mtu {server.mtu}"
        raise Refusal(("client", "mtu"), what, "the same on both sides of a wire")
    if client.vlan != server.vlan and not has(scenario, "foreign_peer"):
        what = f"client.vlan is {client.vlan or 'none'}, server.vlan {server.vlan or 'none'}"
        raise Refusal(("client", "vlan"), what, "the same on both sides of a wire without a switch")
    for key in ("ip", "mac"):
        if getattr(client, key) != getattr(server, key) or getattr(client, key) == "nic":
            continue
        queues = len(topology.dispatchers)
        if key == "ip" and has(scenario, "unframed") and abs(client.port - server.port) >= queues:
            continue  # one host's address, with other ports
        what = f"client and server have the same {key}"
        raise Refusal(("client", key), what, f"another {key} for one of them")


def _without_response(scenario: Scenario, topology: Topology, client: Client) -> None:
    """Raises Refusal for a load that needs responses: without them only the timeout frees a slot."""
    for index, (workload, rate) in enumerate(zip(scenario.workload, rates(scenario, client), strict=True)):
        if rate is None:
            what = f'a closed loop needs responses, and the wire "{scenario.wire.kind}" sends none'
            raise Refusal(("client",), what, 'an open loop: rate = "1Mpps"')
        slots = sum(application.inflight for application in topology.applications if application.workload == index)
        if rate * workload.timeout > slots * 10**9:
            raise Refusal(
                ("workload", index, "timeout"),
                f"without responses a message stays in flight until its timeout: {slots * 10**9 // workload.timeout} "
                "a second at most",
                f"a timeout of at most {int(slots * 10**9 / rate)} ns, or a larger inflight",
            )


def _messages(scenario: Scenario, client: Client) -> None:
    for index, workload in enumerate(scenario.workload):
        for key, size in (("request", request_bytes(scenario, index)), ("response", response_bytes(scenario, index))):
            key = f"{key}_sizes" if getattr(workload, f"{key}_sizes") else key
            count = segments(size, client)
            if count > MAX_SEGMENTS:
                body = -(-(size - MESSAGE_HEADER_BYTES) // MAX_SEGMENTS)
                raise Refusal(
                    ("workload", index, key),
                    f"{key} of workload {index} needs {count} segments at an MTU of {client.mtu}, at most {MAX_SEGMENTS} are possible",
                    f"an mtu of at least {body + MESSAGE_HEADER_BYTES + ip_udp_header_bytes(client)}",
                )
