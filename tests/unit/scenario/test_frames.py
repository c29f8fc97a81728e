"""Frames around messages: VLANs, IPv6, and what of both is refused."""

import pytest
from scenario_tools import loaded, machine

from windtunnel.errors import UserError
from windtunnel.scenario import resolve
from windtunnel.scenario.topology import segments

IPV6 = {
    "wire": {"kind": "ring"},
    "client": {"ip": "fd00::1"},
    "server": {"ip": "fd00::2"},
    "workload": [{"handler": "l_app"}],
}
VLAN = {"wire": {"kind": "ring"}, "client": {"vlan": 7}, "server": {"vlan": 7}, "workload": [{"handler": "l_app"}]}


def refused(directory, data, *sets) -> str:
    with pytest.raises(UserError) as caught:
        resolve(loaded(directory, data, *sets), machine())
    return f"{caught.value.message}; {caught.value.remedy}"


def test_a_vlan_and_its_priority_are_in_the_plan(tmp_path):
    [plan] = resolve(loaded(tmp_path, VLAN, "client.vlan_priority=5"), machine()).plans
    tags = {e.side: (e.vlan.id, e.vlan.priority) for e in plan.endpoints if e.vlan}
    assert tags == {"client": (7, 5), "server": (7, 0)}


@pytest.mark.parametrize("vlan", [0, 4095])
def test_a_vlan_that_ieee_802_1q_keeps_for_itself_is_refused(tmp_path, vlan):
    assert "client.vlan" in refused(tmp_path, VLAN, f"client.vlan={vlan}")


def test_a_vlan_of_one_side_is_refused(tmp_path):
    said = refused(tmp_path, VLAN, "server.vlan=8")
    assert "client.vlan is 7, server.vlan 8; the same on both sides" in said


def test_a_priority_needs_a_vlan(tmp_path):
    assert "server.vlan_priority has no effect without server.vlan" in refused(tmp_path, IPV6, "server.vlan_priority=3")


def test_both_sides_are_over_ipv6(tmp_path):
    [plan] = resolve(loaded(tmp_path, IPV6), machine()).plans
    assert {(e.side, e.ip, e.peer_ip) for e in plan.endpoints} == {
        ("client", "fd00::1", "fd00::2"),
        ("server", "fd00::2", None),
    }


@pytest.mark.parametrize("given", ["FD00::1", "fd00:0:0::1", "fd00:0000:0000:0000:0000:0000:0000:0001"])
def test_an_address_has_one_spelling_in_the_plan(tmp_path, given):
    [plan] = resolve(loaded(tmp_path, IPV6, f"client.ip={given}"), machine()).plans
    assert "fd00::1" in {e.ip for e in plan.endpoints}


@pytest.mark.parametrize("given", ["ff02::1", "::", "::ffff:10.0.0.1", "fe80::1%eth0", "fd00::g"])
def test_an_address_that_is_no_hosts_is_refused(tmp_path, given):
    assert given in refused(tmp_path, IPV6, f"client.ip={given}")


def test_two_ip_versions_are_refused(tmp_path):
    said = refused(tmp_path, IPV6, "server.ip=10.77.0.2")
    assert "client.ip fd00::1 is an IPv6 address, server.ip 10.77.0.2 is none" in said
    assert 'server.ip = "fd00::2"' in said
    said = refused(tmp_path, IPV6, "client.ip=10.77.0.1")
    assert "client.ip 10.77.0.1 is an IPv4 address, server.ip fd00::2 is none" in said


def test_what_ipv6_does_not_have_is_refused(tmp_path):
    assert "UDP over IPv6 needs its checksum" in refused(tmp_path, IPV6, "wire.udp_checksum=false")
    assert "at least 1280" in refused(tmp_path, IPV6, "client.mtu=1279", "server.mtu=1279")
    resolve(loaded(tmp_path, IPV6, "client.mtu=1280", "server.mtu=1280"), machine())


def test_a_longer_header_leaves_less_room_in_a_packet(tmp_path):
    client = loaded(tmp_path, IPV6).client
    assert [segments(size, client) for size in (1452, 1453)] == [1, 2]
