"""Every wire with the kernel at its other end, alike: its ping, its ARP and Python's own sockets meet the engine."""

import contextlib
import os
import random
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from kernel_peer import (
    CLIENT_MAC,
    HEADER,
    PORT,
    REQUEST,
    RESPONSE,
    SERVER_MAC,
    SIZES,
    execute,
    outside,
    over_tap,
    over_veth,
    over_xdp,
    ping,
)
from namespace import ENGINE_IP, Namespace
from real_runs import after, assert_sound, drops, messages, ports, scenario
from scenario_tools import SHIPPED

from windtunnel.results.run.report import write_run_report

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: makes network interfaces, opens packet and XDP sockets"),
]
WIRES = {"af_packet": over_veth, "af_xdp": over_xdp, "tap": over_tap}


@pytest.fixture(params=WIRES)
def peer(request):
    with WIRES[request.param]() as made:
        yield made


@pytest.mark.parametrize(
    ("name", "engine_ip"), [("kernel-ping", ENGINE_IP), ("kernel-af_xdp", ENGINE_IP), ("kernel-tap", "10.77.1.2")]
)
def test_ping_and_shipped_scenario(tmp_path, name, engine_ip):
    script, inside = SHIPPED / f"{name}.sh", Namespace("wt-ping", "wt0").command
    tap = name == "kernel-tap"
    command = outside if tap else inside

    def talk():
        if tap:
            subprocess.run([script], check=True)
        return ping(command, engine_ip, 100), command("ip", "neigh", "show", engine_ip)

    if not tap:
        subprocess.run([script, "up"], check=True)
    try:
        finished = execute(tmp_path, SHIPPED / f"{name}.toml", "duration=2500ms", "warmup=100ms", beside=talk)
    finally:
        if not tap:
            subprocess.run([script, "down"], check=True)
    sequence_numbers, neighbour = finished.beside
    assert sequence_numbers == list(range(1, 101))
    assert SERVER_MAC in neighbour
    assert_sound(finished.run)
    assert ports(finished.run, "server")["tx_packets"] >= 101, "an answer to ARP and one to each ping"
    assert write_run_report(finished.run.path).is_file()


def test_udp_echoes_byte_for_byte(tmp_path, peer):
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    sent = [random.Random(seed + n).randbytes(size) for n, size in enumerate(SIZES)]

    def talk():
        peer.meet()
        with peer.udp() as client:
            client.connect((peer.engine_ip, PORT))
            echoes = []
            for payload in sent:
                client.send(payload)
                echoes.append(client.recv(65535))
            return echoes, peer.command("ip", "neigh", "show", peer.engine_ip)

    finished = execute(tmp_path, peer.server({"packet_handler": "echo"}), beside=talk)
    echoes, neighbour = finished.beside
    assert echoes == sent
    assert SERVER_MAC in neighbour
    assert_sound(finished.run)
    assert "bad_udp_checksum" not in drops(finished.run, "server")


def test_all_datagrams_are_accounted_for(tmp_path, peer):
    """More than the driver's rings hold, in bursts: whatever is lost is the kernel's loss, and no mbuf is."""

    def talk():
        peer.meet()
        with peer.udp() as client:
            client.connect((peer.engine_ip, PORT))
            client.send(b"first, so that ARP has its answer")
            client.recv(65535)
            client.setblocking(False)
            back = 0
            for _ in range(200):
                for _ in range(64):
                    try:
                        client.send(bytes(64))
                    except BlockingIOError:
                        break
                try:
                    while client.recv(65535):
                        back += 1
                except BlockingIOError:
                    pass
            client.settimeout(0.5)  # the engine may have had no CPU so far
            with contextlib.suppress(TimeoutError):
                while client.recv(65535):
                    back += 1
            return back

    data = peer.server({"packet_handler": "echo"}) | {"duration": "1s", "window": "100ms"}
    # without a cache every mbuf of the pool gets its turn in the driver's hands
    data["server"] |= {"rx_descriptors": 64, "tx_descriptors": 64, "mempool": {"cache": 0}}
    finished = execute(tmp_path, data, beside=talk)
    assert_sound(finished.run)
    assert finished.beside > 100
    assert ports(finished.run, "server")["tx_packets"] > finished.beside


def test_client_resolves_the_kernel_and_a_socket_responds(tmp_path, peer):
    side = {"interface": peer.interface, "ip": peer.engine_ip, "peer_ip": peer.kernel_ip, "rate": "1kpps"}
    data = scenario({"handler": "l_app", "request": 101}, wire={"kind": peer.wire}, client=side, **after(100))
    ended, taken, neighbours = threading.Event(), [], []

    def response(server: socket.socket):
        while not ended.is_set():
            try:
                message, sender = server.recvfrom(65535)
            except TimeoutError:
                continue
            taken.append(message)
            server.sendto(message, sender)
            if len(taken) == 1:
                neighbours.append(peer.command("ip", "neigh", "show", peer.engine_ip))

    # the socket is there before anybody can learn of the kernel's address, so that it sees every message
    with peer.udp(port=PORT) as server:
        server.settimeout(0.1)
        thread = threading.Thread(target=response, args=[server])
        thread.start()
        try:
            finished = execute(tmp_path, data, beside=peer.meet)
        finally:
            ended.set()
            thread.join()
    assert_sound(finished.run)
    ledger = messages(finished.run)
    assert (ledger.responses, ledger.lost) == (ledger.sent, 0)
    assert len(taken) == ledger.sent >= 100
    assert {len(message) for message in taken} == {101}
    assert len({message[4:12] for message in taken}) == ledger.sent, "slot and generation name a message"
    assert any("resolving" in phase.name for phase in finished.run.record.engines[0].phases)
    assert CLIENT_MAC in neighbours[0]


def fills(word: bytes, length: int) -> bytes:
    return (word * (length // 8 + 1))[:length]


def scanned(body: bytes) -> bytes:
    """XOR of the body's 64-bit words, the last one filled up with zeros."""
    total = 0
    for at in range(0, len(body), 8):
        total ^= int.from_bytes(body[at : at + 8].ljust(8, b"\0"), "little")
    return total.to_bytes(8, "little")


@pytest.mark.parametrize(
    ("peer", "size"),
    [*(("af_packet", size) for size in (16, 17, 86, 1001, 1472)), ("af_xdp", 86), ("tap", 86)],
    indirect=["peer"],
)
def test_a_handwritten_message_gets_the_handlers_response(tmp_path, peer, size):
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    body = random.Random(seed).randbytes(size - HEADER.size)
    asked = [HEADER.pack(REQUEST, 0, 7, slot, 2 * slot + 1, 0, 1) + body for slot in range(20)]

    def talk():
        peer.meet()
        with peer.udp() as client:
            client.connect((peer.engine_ip, PORT))
            responses = []
            for message in asked:
                client.send(message)
                responses.append(client.recv(65535))
            return responses

    finished = execute(tmp_path, peer.server({"handler": "l_app", "request": size, "response": size}), beside=talk)
    assert_sound(finished.run)
    body_of_response = fills(scanned(body), len(body))
    assert finished.beside == [bytes([RESPONSE]) + message[1 : HEADER.size] + body_of_response for message in asked]


@pytest.mark.parametrize("offloads", ["rx_checksum", "tx_checksum", "rx_checksum|tx_checksum"])
def test_checksums_of_the_port_are_right_for_the_kernel(tmp_path, offloads):
    """net_tap computes and checks them by software. The kernel gives a socket no datagram whose checksum is wrong."""
    body = bytes(range(100))
    asked = [HEADER.pack(REQUEST, 0, 7, slot, 2 * slot + 1, 0, 1) + body for slot in range(20)]
    with over_tap() as peer:

        def talk():
            peer.meet()
            with peer.udp() as client:
                client.connect((peer.engine_ip, PORT))
                responses = []
                for message in asked:
                    client.send(message)
                    responses.append(client.recv(65535))
                return responses

        data = peer.server({"handler": "l_app", "request": 116, "response": 116})
        data["server"]["offloads"] = offloads.split("|")
        finished = execute(tmp_path, data, beside=talk)
    assert_sound(finished.run)
    assert len(finished.beside) == len(asked) and {response[0] for response in finished.beside} == {RESPONSE}
    assert "bad_udp_checksum" not in drops(finished.run, "server")
    [note] = [note for note in finished.run.record.all_notes() if "UDP packets that it sends" in note]
    sends, receives = note.split("; ")
    assert ("the port computes UDP and IPv4 checksums" in sends) == ("tx_checksum" in offloads)
    assert ("the port checks UDP and IPv4 checksums" in receives) == ("rx_checksum" in offloads)


def test_a_server_with_the_mac_of_its_interface(tmp_path):
    with over_veth() as peer:

        def talk():
            with peer.udp() as client:
                client.connect((peer.engine_ip, PORT))
                client.send(b"to the interface's own address")
                return client.recv(65535), peer.command("ip", "neigh", "show", peer.engine_ip)

        data = peer.server({"packet_handler": "echo"})
        data["server"]["mac"] = "nic"
        own = Path(f"/sys/class/net/{peer.interface}/address").read_text().strip()
        finished = execute(tmp_path, data, beside=talk)
    echo, neighbour = finished.beside
    assert echo == b"to the interface's own address"
    assert own in neighbour and own != SERVER_MAC
    assert_sound(finished.run)
    assert f"the server has the MAC of net_af_packet: {own}" in finished.run.record.all_notes()
