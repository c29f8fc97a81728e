"""A wire without frames: what the plan says of it, and what needs frames is refused."""

import pytest
from scenario_tools import finished, loaded, machine, refused

from windtunnel.scenario import OneSide, resolve

RDMA = {
    "wire": {"kind": "rdma"},
    "client": {"ip": "127.0.0.2", "inflight": 32},
    "server": {"ip": "127.0.0.1"},
    "workload": [{"handler": "l_app"}],
}
SAME_IP = ("client.ip=127.0.0.1", "client.inflight=64", "workload.0.dispatchers=2", "workload.0.apps=2")


def notes_of_losses(directory, *sets):
    return [note for note in finished(directory, RDMA, *sets).notes if "on their way" in note]


def test_a_server_knows_where_its_client_is(tmp_path):
    scenario = loaded(tmp_path, RDMA, "client.port=5000")
    [plan] = resolve(scenario, machine()).plans
    places = {e.side: (e.ip, e.udp_port, e.peer_ip, e.peer_udp_port) for e in plan.endpoints}
    client, server = ("127.0.0.2", 5000), ("127.0.0.1", scenario.server.port)
    assert places == {"client": client + server, "server": server + client}
    [alone] = resolve(scenario, machine(), OneSide("server")).plans
    assert (alone.endpoints[0].peer_ip, alone.hello_wait_ns) == ("127.0.0.2", 60 * 10**9)


def test_a_wire_with_frames_needs_no_peer_on_a_server(tmp_path):
    [plan] = finished(tmp_path, RDMA | {"wire": {"kind": "ring"}}).plans
    assert [e.peer_ip for e in plan.endpoints if e.side == "server"] == [None]


@pytest.mark.parametrize(("kind", "lossy"), [("rc", False), ("ud", True), ("rdm", False)])
def test_only_datagrams_may_be_lost(tmp_path, kind, lossy):
    [plan] = finished(tmp_path, RDMA, f"wire.type={kind}").plans
    assert all(("lossy" in e.port.traits) == lossy and "unframed" in e.port.traits for e in plan.endpoints)


@pytest.mark.parametrize("planted", ["wire.faults.loss=0.1", "wire.link.delay=1us"])
def test_faults_are_planted_where_packets_may_be_lost(tmp_path, planted):
    said = refused(tmp_path, RDMA, planted)
    assert 'wire "rdma" is reliable' in said and 'type = "ud", or no ' in said
    finished(tmp_path, RDMA, "wire.type=ud", planted)


@pytest.mark.parametrize(
    ("change", "sets", "words"),
    [
        ({}, ["record=run.pcap"], "nothing to record"),
        (
            {"workload": [{"packet_handler": "echo"}]},
            [],
            'the wire "rdma" carries none; a message handler',
        ),
        ({}, SAME_IP, "client and server have the same ip"),
        ({}, [*SAME_IP, "client.port=4001", "server.port=4000"], "client and server have the same ip"),
    ],
)
def test_what_needs_frames_is_refused(tmp_path, change, sets, words):
    assert words in refused(tmp_path, RDMA | change, *sets)


def test_both_sides_may_have_one_address_with_other_ports(tmp_path):
    finished(tmp_path, RDMA, *SAME_IP, "client.port=4002", "server.port=4000")


@pytest.mark.parametrize(("kind", "fate"), [("rc", "wait in the provider"), ("ud", "are lost")])
def test_more_packets_in_flight_than_receives_are_a_note(tmp_path, kind, fate):
    of_kind = f"wire.type={kind}"
    assert notes_of_losses(tmp_path, of_kind, "server.rx_descriptors=32") == []
    assert notes_of_losses(tmp_path, of_kind, "server.rx_descriptors=16") == [
        f"up to 32 packets may be on their way to the server, which posts 16 receives: the others {fate}"
    ]
    [note] = notes_of_losses(tmp_path, of_kind, "client.rx_descriptors=64", "workload.0.response=4KiB")
    assert "96 packets" in note


@pytest.mark.parametrize("operation", ["read", "write"])
def test_operations_need_no_receives(tmp_path, operation):
    few = ("server.rx_descriptors=16", f"wire.operation={operation}", "workload.0.handler=empty")
    assert not notes_of_losses(tmp_path, *few)


def test_posted_mbufs_are_in_the_demand(tmp_path):
    def pool(*sets):
        return finished(tmp_path, RDMA, *sets).plans[0].endpoints[0].pool.size

    assert pool("server.rx_descriptors=4096", "server.tx_descriptors=4096") - pool() >= 4096
