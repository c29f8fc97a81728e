"""Frames around messages: VLANs, IPv6, and what of both is refused."""

import pytest
from scenario_tools import finished, loaded, refused

from windtunnel.scenario.topology import segments

IPV6 = {
    "wire": {"kind": "ring"},
    "client": {"ip": "fd00::1"},
    "server": {"ip": "fd00::2"},
    "workload": [{"handler": "l_app"}],
}
VLAN = IPV6 | {"client": {"vlan": 7}, "server": {"vlan": 7}}


def endpoints(directory, data, *sets):
    [plan] = finished(directory, data, *sets).plans
    return plan.endpoints


def test_a_vlan_and_its_priority_are_in_the_plan(tmp_path):
    tags = {e.side: (e.vlan.id, e.vlan.priority) for e in endpoints(tmp_path, VLAN, "client.vlan_priority=5") if e.vlan}
    assert tags == {"client": (7, 5), "server": (7, 0)}


def test_both_sides_are_over_ipv6(tmp_path):
    assert {(e.side, e.ip, e.peer_ip) for e in endpoints(tmp_path, IPV6)} == {
        ("client", "fd00::1", "fd00::2"),
        ("server", "fd00::2", None),
    }


@pytest.mark.parametrize("spelling", ["FD00::1", "fd00:0:0::1", "fd00:0000:0000:0000:0000:0000:0000:0001"])
def test_an_address_has_one_spelling_in_the_plan(tmp_path, spelling):
    assert "fd00::1" in {e.ip for e in endpoints(tmp_path, IPV6, f"client.ip={spelling}")}


@pytest.mark.parametrize("address", ["ff02::1", "::", "::ffff:10.0.0.1", "fe80::1%eth0", "fd00::g"])
def test_an_address_that_is_no_hosts_is_refused(tmp_path, address):
    assert address in refused(tmp_path, IPV6, f"client.ip={address}")


@pytest.mark.parametrize(
    ("data", "change", "words"),
    [
        (VLAN, "client.vlan=0", "client.vlan"),  # IEEE 802.1Q keeps 0 and 4095 for itself
        (VLAN, "client.vlan=4095", "client.vlan"),
        (VLAN, "server.vlan=8", "client.vlan is 7, server.vlan 8; the same on both sides"),
        (IPV6, "server.vlan_priority=3", "server.vlan_priority has no effect without server.vlan"),
        (IPV6, "server.ip=10.77.0.2", "client.ip fd00::1 is an IPv6 address, server.ip 10.77.0.2 is none"),
        (IPV6, "server.ip=10.77.0.2", 'server.ip = "fd00::2"'),
        (IPV6, "client.ip=10.77.0.1", "client.ip 10.77.0.1 is an IPv4 address, server.ip fd00::2 is none"),
        (IPV6, "wire.udp_checksum=false", "UDP over IPv6 needs its checksum"),
    ],
)
def test_what_frames_cannot_have_is_refused(tmp_path, data, change, words):
    assert words in refused(tmp_path, data, change)


def test_ipv6_has_a_least_mtu(tmp_path):
    assert "at least 1280" in refused(tmp_path, IPV6, "client.mtu=1279", "server.mtu=1279")
    finished(tmp_path, IPV6, "client.mtu=1280", "server.mtu=1280")


def test_a_longer_header_leaves_less_room_in_a_packet(tmp_path):
    client = loaded(tmp_path, IPV6).client
    assert [segments(size, client) for size in (1452, 1453)] == [1, 2]
