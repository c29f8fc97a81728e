"""The kernel as a witness: its ping, its ARP and Python's own sockets meet the engine over veth."""

import os
import random
import re
import struct
import subprocess
import threading

import pytest
from namespace import ENGINE_IP, KERNEL_IP, Namespace, namespace
from real_flights import assert_sound, drops, fly, messages, ports, scenario
from scenario_tools import SHIPPED

from windtunnel import report

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: makes a network namespace and opens packet sockets"),
]
PORT = 9000
SERVER_MAC = "02:77:74:00:00:02"
SIZES = (0, 1, 2, 17, 18, 19, 86, 255, 1001, 1023, 1471, 1472)
"""UDP payloads; 18 fills the shortest frame, 1472 the MTU."""
HEADER = struct.Struct(">BBHIIHH")
REQUEST, ANSWER = 0x11, 0x12


@pytest.fixture
def veth():
    with namespace() as made:
        yield made


def server(veth: Namespace, workload: dict, **keys) -> dict:
    data = scenario(workload, wire={"kind": "af_packet"}, server={"interface": veth.interface, "ip": ENGINE_IP}, **keys)
    return data | {"duration": "1500ms"}


def test_ping_and_shipped_scenario(tmp_path):
    script = SHIPPED / "kernel-ping.sh"
    subprocess.run([script, "up"], check=True)
    made = Namespace("wt-ping", "wt0")

    def ping():
        return made.command("ping", "-q", "-c", "100", "-i", "0.01", ENGINE_IP), made.mac_of(ENGINE_IP)

    try:
        flown = fly(tmp_path, SHIPPED / "kernel-ping.toml", "duration=2500ms", "warmup=100ms", beside=ping)
    finally:
        subprocess.run([script, "down"], check=True)
    said, mac = flown.beside
    assert "100 packets transmitted, 100 received, 0% packet loss" in said
    assert mac == SERVER_MAC
    assert_sound(flown.run)
    assert ports(flown.run, "server")["tx_packets"] >= 101, "an answer to ARP and one to each ping"
    assert report.write(flown.run.path).is_file()


def test_ping_of_every_size(tmp_path, veth):
    """ping itself compares the bytes; it says `wrong data byte` where they differ."""

    def ping(size: int) -> str:
        return veth.command("ping", "-c", "10", "-i", "0.01", "-s", str(size), "-p", "a5c3", ENGINE_IP)

    sizes = (0, 1, 55, 56, 1471, 1472)
    flown = fly(tmp_path, server(veth, {"packet_handler": "echo"}), beside=lambda: list(map(ping, sizes)))
    assert_sound(flown.run)
    for said in flown.beside:
        assert "10 packets transmitted, 10 received" in said
        assert "wrong data" not in said


def test_udp_echoes_byte_for_byte(tmp_path, veth):
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    sent = [random.Random(seed + n).randbytes(size) for n, size in enumerate(SIZES)]

    def talk():
        with veth.udp() as client:
            client.connect((ENGINE_IP, PORT))
            echoes = []
            for payload in sent:
                client.send(payload)
                echoes.append(client.recv(65535))
            return echoes

    flown = fly(tmp_path, server(veth, {"packet_handler": "echo"}), beside=talk)
    assert flown.beside == sent
    assert_sound(flown.run)


def fills(word: bytes, length: int) -> bytes:
    return (word * (length // 8 + 1))[:length]


def scanned(body: bytes) -> bytes:
    """XOR of the body's 64-bit words, the last one filled up with zeros."""
    total = 0
    for at in range(0, len(body), 8):
        total ^= int.from_bytes(body[at : at + 8].ljust(8, b"\0"), "little")
    return total.to_bytes(8, "little")


@pytest.mark.parametrize("size", [16, 17, 86, 1001, 1472])
def test_message_written_by_hand_gets_the_handlers_answer(tmp_path, veth, size):
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    body = random.Random(seed).randbytes(size - HEADER.size)
    asked = [HEADER.pack(REQUEST, 0, 7, slot, 2 * slot + 1, 0, 1) + body for slot in range(20)]

    def talk():
        with veth.udp() as client:
            client.connect((ENGINE_IP, PORT))
            answers = []
            for message in asked:
                client.send(message)
                answers.append(client.recv(65535))
            return answers

    workload = {"handler": "l_app", "request": size, "response": size}
    flown = fly(tmp_path, server(veth, workload), beside=talk)
    assert_sound(flown.run)
    body_of_answer = fills(scanned(body), len(body))
    assert flown.beside == [bytes([ANSWER]) + message[1 : HEADER.size] + body_of_answer for message in asked]


def test_strange_datagrams_are_dropped_by_name(tmp_path, veth):
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

    flown = fly(tmp_path, server(veth, {"handler": "l_app", "request": 86, "response": 86}), beside=talk)
    assert flown.beside[: HEADER.size] == bytes([ANSWER]) + good[1 : HEADER.size]
    assert_sound(flown.run)
    expected = {reason: len(payloads) for reason, payloads in strange.items()} | {"unknown_port": 1}
    assert {reason: drops(flown.run, "server").get(reason) for reason in expected} == expected


def test_client_resolves_the_kernel_and_is_answered_by_a_socket(tmp_path, veth):
    client = {"interface": veth.interface, "ip": ENGINE_IP, "peer_ip": KERNEL_IP, "rate": "1kpps"}
    data = scenario({"handler": "l_app", "request": 101}, wire={"kind": "af_packet"}, client=client)
    landed = threading.Event()
    taken = []

    def answer():
        with veth.udp(KERNEL_IP, PORT) as socket:
            socket.settimeout(0.1)
            while not landed.is_set():
                try:
                    message, sender = socket.recvfrom(65535)
                except TimeoutError:
                    continue
                taken.append(message)
                socket.sendto(message, sender)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        run = fly(tmp_path, data).run
    finally:
        landed.set()
        thread.join()
    assert_sound(run)
    ledger = messages(run)
    assert (ledger.answered, ledger.lost) == (ledger.sent, 0)
    assert len(taken) == ledger.sent > 100
    assert {len(message) for message in taken} == {101}
    assert len({message[4:12] for message in taken}) == ledger.sent, "slot and generation name a message"
    assert re.search("resolving", " ".join(phase.name for phase in run.record.engines[0].phases))
    assert veth.mac_of(ENGINE_IP) == "02:77:74:00:00:01"


def test_client_whose_peer_nobody_knows(tmp_path, veth):
    client = {"interface": veth.interface, "ip": ENGINE_IP, "peer_ip": "10.77.0.99"}
    run = fly(tmp_path, scenario(wire={"kind": "af_packet"}, client=client)).run
    assert run.record.verdict.reasons[0].startswith("engine refused: nobody answers ARP")


def test_large_messages_of_a_stranger_are_dropped_by_name(tmp_path, veth):
    """Their places are laid out for the applications and slots of our own client, and there is none."""
    segments = [HEADER.pack(REQUEST, 0, 0, 0, 1, n, 3) + bytes(1456) for n in range(2)]

    def talk():
        with veth.udp() as client:
            for segment in segments:
                client.sendto(segment, (ENGINE_IP, PORT))
            client.settimeout(0.2)
            with pytest.raises(TimeoutError):
                client.recv(65535)

    run = fly(tmp_path, server(veth, {"handler": "t_app", "request": "4KiB"}), beside=talk).run
    assert_sound(run)
    assert drops(run, "server")["unknown_application"] == len(segments)
