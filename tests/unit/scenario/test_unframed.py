"""A wire without frames: what the plan says of it, and what needs frames is refused."""

import pytest
from scenario_tools import loaded, machine

from windtunnel.errors import UserError
from windtunnel.scenario import OneSide, resolve

RDMA = {
    "wire": {"kind": "rdma"},
    "client": {"ip": "127.0.0.2", "inflight": 32},
    "server": {"ip": "127.0.0.1"},
    "workload": [{"handler": "l_app"}],
}


def refused(directory, data, *sets) -> str:
    with pytest.raises(UserError) as caught:
        resolve(loaded(directory, data, *sets), machine())
    return f"{caught.value.message}; {caught.value.remedy}"


def test_a_server_knows_where_its_client_is(tmp_path):
    scenario = loaded(tmp_path, RDMA, "client.port=5000")
    [plan] = resolve(scenario, machine()).plans
    places = {e.side: (e.ip, e.udp_port, e.peer_ip, e.peer_udp_port) for e in plan.endpoints}
    client, server = ("127.0.0.2", 5000), ("127.0.0.1", scenario.server.port)
    assert places == {"client": client + server, "server": server + client}
    [alone] = resolve(scenario, machine(), OneSide("server")).plans
    assert (alone.endpoints[0].peer_ip, alone.hello_wait_ns) == ("127.0.0.2", 60 * 10**9)


def test_a_wire_with_frames_needs_no_peer_on_a_server(tmp_path):
    [plan] = resolve(loaded(tmp_path, RDMA | {"wire": {"kind": "ring"}}), machine()).plans
    assert [e.peer_ip for e in plan.endpoints if e.side == "server"] == [None]


@pytest.mark.parametrize(("kind", "lossy"), [("rc", False), ("ud", True), ("rdm", False)])
def test_only_datagrams_may_be_lost(tmp_path, kind, lossy):
    [plan] = resolve(loaded(tmp_path, RDMA, f"wire.type={kind}"), machine()).plans
    assert all(("lossy" in e.port.traits) == lossy and "unframed" in e.port.traits for e in plan.endpoints)


@pytest.mark.parametrize("planted", ["wire.faults.loss=0.1", "wire.link.delay=1us"])
def test_faults_are_planted_where_packets_may_be_lost(tmp_path, planted):
    assert 'wire "rdma" is reliable' in (said := refused(tmp_path, RDMA, planted))
    assert 'type = "ud", or no ' in said
    resolve(loaded(tmp_path, RDMA, "wire.type=ud", planted), machine())


def test_what_needs_frames_is_refused(tmp_path):
    assert "nothing to record" in refused(tmp_path, RDMA, "record=run.pcap")
    packets = RDMA | {"workload": [{"packet_handler": "echo"}]}
    assert 'the wire "rdma" carries none; a message handler' in refused(tmp_path, packets)


def test_both_sides_may_have_one_address_with_other_ports(tmp_path):
    same = ("client.ip=127.0.0.1", "client.inflight=64", "workload.0.dispatchers=2", "workload.0.apps=2")
    assert "client and server have the same ip" in refused(tmp_path, RDMA, *same)
    assert "client and server have the same ip" in refused(
        tmp_path, RDMA, *same, "client.port=4001", "server.port=4000"
    )
    resolve(loaded(tmp_path, RDMA, *same, "client.port=4002", "server.port=4000"), machine())


@pytest.mark.parametrize(("kind", "fate"), [("rc", "wait in the provider"), ("ud", "are lost")])
def test_more_packets_in_flight_than_receives_are_a_note(tmp_path, kind, fate):
    def notes(*sets):
        found = resolve(loaded(tmp_path, RDMA, f"wire.type={kind}", *sets), machine()).notes
        return [note for note in found if "on their way" in note]

    assert notes("server.rx_descriptors=32") == []
    assert notes("server.rx_descriptors=16") == [
        f"up to 32 packets may be on their way to the server, which posts 16 receives: the others {fate}"
    ]
    assert ["96 packets" in note for note in notes("client.rx_descriptors=64", "workload.0.response=4KiB")] == [True]


@pytest.mark.parametrize("operation", ["read", "write"])
def test_operations_need_no_receives(tmp_path, operation):
    few = ("server.rx_descriptors=16", f"wire.operation={operation}", "workload.0.handler=empty")
    assert not [note for note in resolve(loaded(tmp_path, RDMA, *few), machine()).notes if "on their way" in note]


def test_posted_mbufs_are_in_the_demand(tmp_path):
    def pool(*sets):
        return resolve(loaded(tmp_path, RDMA, *sets), machine()).plans[0].endpoints[0].pool.size

    assert pool("server.rx_descriptors=4096", "server.tx_descriptors=4096") - pool() >= 4096
