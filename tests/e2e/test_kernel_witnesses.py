"""The kernel as a witness over veth: pings of every size, datagrams that are nobody's, a peer that is not there."""

import os
import re

import pytest
from kernel_peer import HEADER, PORT, REQUEST, RESPONSE
from namespace import ENGINE_IP, Namespace, namespace
from real_runs import assert_sound, drops, execute, scenario

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: makes a network namespace and opens packet sockets"),
]


@pytest.fixture
def veth():
    with namespace() as made:
        yield made


def server(veth: Namespace, workload: dict, **keys) -> dict:
    data = scenario(workload, wire={"kind": "af_packet"}, server={"interface": veth.interface, "ip": ENGINE_IP}, **keys)
    return data | {"duration": "1500ms"}


def test_ping_of_every_size(tmp_path, veth):
    """ping itself compares the bytes; it says `wrong data byte` where they differ. It does not wait for an engine without a CPU: what it
    lost is closed in the ledgers of the engine."""

    def ping(size: int) -> str:
        return veth.command("ping", "-c", "10", "-i", "0.01", "-s", str(size), "-p", "a5c3", ENGINE_IP)

    sizes = (0, 1, 55, 56, 1471, 1472)
    finished = execute(tmp_path, server(veth, {"packet_handler": "echo"}), beside=lambda: list(map(ping, sizes)))
    assert_sound(finished.run)
    for said in finished.beside:
        assert int(re.search(r"10 packets transmitted, (\d+) received", said)[1]) > 0
        assert "wrong data" not in said


def test_malformed_datagrams_are_dropped_by_reason(tmp_path, veth):
    good = HEADER.pack(REQUEST, 0, 0, 0, 1, 0, 1) + bytes(70)
    strange = {
        "bad_message_header": [b"", b"short", bytes(86), b"\x21" + good[1:], b"\x12" + good[1:]],
        "wrong_workload": [b"\x11\x05" + good[2:]],
        "bad_segment_count": [HEADER.pack(REQUEST, 0, 0, 0, 1, 0, 9) + bytes(70)],
        "bad_segment_index": [HEADER.pack(REQUEST, 0, 0, 0, 1, 3, 1) + bytes(70)],
        "bad_segment_length": [good + b"x", good[:-1]],
    }

    def talk():
        with veth.udp() as client:
            for payloads in strange.values():
                for payload in payloads:
                    client.sendto(payload, (ENGINE_IP, PORT))
            client.sendto(good, (ENGINE_IP, PORT + 9))
            client.sendto(good, (ENGINE_IP, PORT))
            return client.recv(65535)

    finished = execute(tmp_path, server(veth, {"handler": "l_app", "request": 86, "response": 86}), beside=talk)
    assert finished.beside[: HEADER.size] == bytes([RESPONSE]) + good[1 : HEADER.size]
    assert_sound(finished.run)
    expected = {reason: len(payloads) for reason, payloads in strange.items()} | {"unknown_port": 1}
    assert {reason: drops(finished.run, "server").get(reason) for reason in expected} == expected


def test_a_client_whose_peer_does_not_respond_to_arp(tmp_path, veth):
    client = {"interface": veth.interface, "ip": ENGINE_IP, "peer_ip": "10.77.0.99"}
    run = execute(tmp_path, scenario(wire={"kind": "af_packet"}, client=client)).run
    assert run.record.verdict.reasons[0].startswith("engine refused: no ARP reply")


def test_large_messages_of_another_program_are_dropped_by_reason(tmp_path, veth):
    """Their places are laid out for the applications and slots of our own client, and there is none."""
    segments = [HEADER.pack(REQUEST, 0, 0, 0, 1, n, 3) + bytes(1456) for n in range(2)]

    def talk():
        with veth.udp() as client:
            for segment in segments:
                client.sendto(segment, (ENGINE_IP, PORT))
            client.settimeout(0.2)
            with pytest.raises(TimeoutError):
                client.recv(65535)

    run = execute(tmp_path, server(veth, {"handler": "t_app", "request": "4KiB"}), beside=talk).run
    assert_sound(run)
    assert drops(run, "server")["unknown_application"] == len(segments)
