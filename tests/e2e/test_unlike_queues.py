"""A client and a server with unlike numbers of queues: each client queue sends to all of the server's, and gets its responses."""

import pytest
from real_runs import L_APP, after, drops, messages, run_well, scenario, stages

UNLIKE = [(2, 1), (1, 2), (3, 2), (2, 3)]


def unlike(client, server, **workload):
    return L_APP | {"apps": 3, "dispatchers": server, "client": {"dispatchers": client}, "timeout": "1min"} | workload


def calls(run, side, stage):
    """Packets of each instance of a stage."""
    counted = {}
    for entry in stages(run, side, stage):
        counted[entry.index] = counted.get(entry.index, 0) + entry.objects
    return counted


def assert_all_queues_worked(run, client, server):
    for stage in ("nic_rx", "nic_tx"):
        for side, queues in (("client", client), ("server", server)):
            moved = calls(run, side, stage)
            assert set(moved) == set(range(queues)) and all(moved.values()), (side, stage, moved)
    assert not drops(run, "client") and not drops(run, "server")


@pytest.mark.parametrize(("client", "server"), UNLIKE)
def test_every_queue_of_both_sides_moves_packets(tmp_path, client, server):
    run = run_well(tmp_path, scenario(unlike(client, server), drain="1min", **after(3000)))
    assert_all_queues_worked(run, client, server)
    assert messages(run).responses >= 3000 and messages(run).lost == 0


@pytest.mark.parametrize("keys", [{"vlan": 7}, {"mtu": 1500}], ids=["vlan", "plain"])
@pytest.mark.parametrize("ips", [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")], ids=["IPv4", "IPv6"])
def test_frames_of_every_form_come_to_their_queue(tmp_path, keys, ips):
    """Messages of several segments: all of one come to one queue, or it could not be put together."""
    sides = {"client": {"ip": ips[0]} | keys, "server": {"ip": ips[1]} | keys}
    data = scenario(unlike(2, 3, request=5000, response=3000), drain="1min", **after(1000), **sides)
    run = run_well(tmp_path, data)
    assert_all_queues_worked(run, 2, 3)


def test_a_packet_handler_responds_on_the_queue_of_the_client(tmp_path):
    workload = {"packet_handler": "echo", "apps": 2, "dispatchers": 1, "client": {"dispatchers": 2}, "timeout": "1min"}
    run = run_well(tmp_path, scenario(workload, drain="1min", **after(3000)))
    assert_all_queues_worked(run, 2, 1)


def test_planted_faults_and_several_workloads(tmp_path):
    """As many queues in all, but unlike ones in each workload."""
    lossy = {"faults": {"loss": 0.02, "duplicate": 0.02, "reorder": 0.05}}
    first, second = unlike(2, 1, timeout="10ms"), unlike(1, 2, timeout="10ms") | {"name": "second"}
    run = run_well(tmp_path, scenario(first, second, wire=lossy, **after(2000)))
    assert all(ledger.responses > 0 for ledger in run.record.engines[0].result.messages)
    assert "misdirected" not in drops(run, "client") | drops(run, "server")
