"""Tags of a VLAN and UDP over IPv6, with the kernel as the witness: its ping, its neighbour discovery, its sockets."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest
from kernel_peer import CLIENT_MAC, HEADER, PORT, REQUEST, RESPONSE, SERVER_MAC, execute, ping
from namespace import Namespace, namespace
from real_runs import after, assert_sound, drops, messages, ports, scenario

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: makes network interfaces, opens packet sockets"),
]
VLAN = 100


@dataclass(frozen=True)
class Around:
    """What the kernel and the engine have around a message."""

    kernel_ip: str
    engine_ip: str
    vlan: int | None


AROUND = {
    "vlan": Around("10.78.0.1", "10.78.0.2", VLAN),
    "ipv6": Around("fd00:77::1", "fd00:77::2", None),
    "ipv6 in a vlan": Around("fd00:78::1", "fd00:78::2", VLAN),
}


@contextmanager
def met(around: Around) -> Iterator[Namespace]:
    with namespace() as made:
        is_ipv6 = ":" in around.kernel_ip
        address = f"{around.kernel_ip}/{64 if is_ipv6 else 24}"
        # an address is usable at once, not when nobody has objected
        made.command("sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad")
        made.command("sh", "-c", f"echo 0 > /proc/sys/net/ipv6/conf/{made.end()}/accept_dad")
        made.command("ip", "address", "add", address, "dev", made.end(), *(["nodad"] if is_ipv6 else []))
        if around.vlan:
            made.join_vlan(around.vlan)
        yield made


@pytest.fixture(params=AROUND)
def around(request) -> Around:
    return AROUND[request.param]


def server(made: Namespace, around: Around, workload: dict, **keys) -> dict:
    side = {"interface": made.interface, "ip": around.engine_ip, "vlan": around.vlan}
    return scenario(workload, wire={"kind": "af_packet"}, server=side, **keys) | {"duration": "600ms"}


def test_ping_gets_its_responses(tmp_path, around):
    with met(around) as made:

        def talk():
            return ping(made.command, around.engine_ip, 20), made.command("ip", "neigh", "show", around.engine_ip)

        finished = execute(tmp_path, server(made, around, {"packet_handler": "echo"}), beside=talk)
    sequence_numbers, neighbour = finished.beside
    assert sequence_numbers == list(range(1, 21))
    assert SERVER_MAC in neighbour
    assert_sound(finished.run)
    assert ports(finished.run, "server")["tx_packets"] >= 21, "one to each ping, and one to who asked for the MAC"


@pytest.mark.parametrize("handler", [{"packet_handler": "echo"}, {"handler": "l_app", "request": 86, "response": 86}])
def test_a_socket_of_the_kernel_gets_every_response(tmp_path, around, handler):
    asked = [HEADER.pack(REQUEST, 0, 7, slot, 2 * slot + 1, 0, 1) + bytes(range(70)) for slot in range(20)]
    with met(around) as made:

        def talk():
            with made.udp("::" if ":" in around.kernel_ip else "") as client:
                client.connect((around.engine_ip, PORT))
                responses = []
                for message in asked:
                    client.send(message)
                    responses.append(client.recv(65535))
                return responses

        finished = execute(tmp_path, server(made, around, handler), beside=talk)
    assert_sound(finished.run)
    kind = RESPONSE if "handler" in handler else REQUEST
    assert [response[: HEADER.size] for response in finished.beside] == [
        bytes([kind]) + message[1 : HEADER.size] for message in asked
    ]


def test_a_client_finds_the_kernel_and_a_socket_responds(tmp_path, around):
    ended, taken, neighbours = threading.Event(), [], []
    with met(around) as made:

        def respond(listening: socket.socket):
            while not ended.is_set():
                try:
                    message, sender = listening.recvfrom(65535)
                except TimeoutError:
                    continue
                taken.append(message)
                listening.sendto(message, sender)
                if len(taken) == 1:
                    neighbours.append(made.command("ip", "neigh", "show", around.engine_ip))

        side = {"interface": made.interface, "ip": around.engine_ip, "vlan": around.vlan, "rate": "1kpps"}
        client = side | {"peer_ip": around.kernel_ip}
        data = scenario({"handler": "l_app", "request": 101}, wire={"kind": "af_packet"}, client=client, **after(100))
        with made.udp("::" if ":" in around.kernel_ip else "", PORT) as listening:
            listening.settimeout(0.1)
            thread = threading.Thread(target=respond, args=[listening])
            thread.start()
            try:
                finished = execute(tmp_path, data)
            finally:
                ended.set()
                thread.join()
    assert_sound(finished.run)
    ledger = messages(finished.run)
    assert (ledger.responses, ledger.lost) == (ledger.sent, 0)
    assert len(taken) == ledger.sent >= 100
    assert CLIENT_MAC in neighbours[0]


def test_what_comes_without_the_tag_is_counted_by_name(tmp_path):
    around = AROUND["vlan"]
    with met(replace(around, vlan=None)) as made:
        made.command("ip", "neigh", "add", around.engine_ip, "lladdr", SERVER_MAC, "dev", made.end())

        def talk():
            with made.udp() as untagged:
                for _ in range(5):
                    untagged.sendto(b"not in the VLAN", (around.engine_ip, PORT))

        finished = execute(tmp_path, server(made, around, {"packet_handler": "echo"}), beside=talk)
    assert drops(finished.run, "server")["untagged"] >= 5, "and what the kernel's IPv6 says of itself"
    assert ports(finished.run, "server")["tx_packets"] == 0


def test_an_extension_header_and_a_fragment_are_counted_by_name(tmp_path):
    """The kernel sends both: a hop-by-hop header on request, fragments of a datagram that is longer than the MTU."""
    around = AROUND["ipv6"]
    with met(around) as made:

        def talk():
            made.command("ping", "-q", "-c", "1", around.engine_ip)
            with made.udp("::") as client:
                client.connect((around.engine_ip, PORT))
                client.send(bytes(4000))
                client.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_HOPOPTS, bytes([0, 0, 1, 4, 0, 0, 0, 0]))
                client.send(b"behind a header of options")

        finished = execute(tmp_path, server(made, around, {"packet_handler": "echo"}), beside=talk)
    counted = drops(finished.run, "server")
    assert counted["ip_fragment"] == 3
    assert counted["ip_extension"] == 1
