"""Checks of the frames around messages: a VLAN, one IP version on both sides, and what IPv6 asks for."""

from windtunnel.engine.plan_values import Side
from windtunnel.scenario.frames import ip_version
from windtunnel.scenario.keys import Client, Scenario, Server
from windtunnel.scenario.refusal import Refusal
from windtunnel.scenario.topology import Topology, endpoint
from windtunnel.scenario.wires import has

LEAST_IPV6_MTU = 1280
"""RFC 8200, section 5."""
EXAMPLE_IP = {"server": "fd00::2", "client": "fd00::1"}


def check_frames(scenario: Scenario, topology: Topology) -> None:
    """Raises Refusal for the first error."""
    _vlan(scenario, topology.side, topology.keys)
    if isinstance(topology.keys, Client):
        _one_version(scenario, topology.keys)
    if ip_version(topology.keys.ip) == 6:
        _ipv6(scenario, topology.side, topology.keys)


def _vlan(scenario: Scenario, side: Side, keys: Client | Server) -> None:
    if keys.vlan is None:
        if keys.vlan_priority:
            what = f"{side}.vlan_priority has no effect without {side}.vlan"
            raise Refusal((side, "vlan_priority"), what, f"{side}.vlan = 100, or no vlan_priority")
    elif has(scenario, "unframed"):
        raise Refusal(
            (side, "vlan"),
            f'a VLAN is a tag of Ethernet frames, and the wire "{scenario.wire.kind}" carries none',
            "no vlan, or a wire that carries Ethernet frames",
        )


def _one_version(scenario: Scenario, client: Client) -> None:
    server, version = endpoint(scenario, "server"), ip_version(client.ip)
    others = {"server.ip": server.ip} if server else {}
    if client.peer_ip or not server:
        others["client.peer_ip"] = client.peer_ip or Server().ip
    for key, ip in others.items():
        if ip_version(ip) != version:
            side, _, name = key.partition(".")
            given = name in getattr(scenario, side).model_fields_set if getattr(scenario, side) else False
            remedy = EXAMPLE_IP["server"] if version == 6 else Server().ip
            raise Refusal(
                (side, name) if given else ("client", "ip"),
                f"client.ip {client.ip} is an IPv{version} address, {key} {ip} is none",
                f'one IP version on both sides, as in {key} = "{remedy}"',
            )


def _ipv6(scenario: Scenario, side: Side, keys: Client | Server) -> None:
    if has(scenario, "unframed"):
        raise Refusal(
            (side, "ip"),
            f'the wire "{scenario.wire.kind}" has only IPv4 addresses',
            "an IPv4 address, or a wire that carries Ethernet frames",
        )
    if not scenario.wire.udp_checksum:
        raise Refusal(
            ("wire", "udp_checksum"),
            "UDP over IPv6 needs its checksum (RFC 8200, section 8.1)",
            "udp_checksum = true, or IPv4 addresses",
        )
    if keys.mtu < LEAST_IPV6_MTU:
        what = f"{side}.mtu: {keys.mtu} is below what IPv6 asks of every link (RFC 8200, section 5)"
        raise Refusal((side, "mtu"), what, f"at least {LEAST_IPV6_MTU}, or IPv4 addresses")
