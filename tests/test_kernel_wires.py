"""The wires af_xdp and tap: the kernel's ping and sockets at the other end, and what a flight leaves of an interface."""

import json
import os
import random
import secrets
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from namespace import ENGINE_IP, KERNEL_IP, Namespace, namespace, run
from real_flights import Flown, assert_sound, drops, messages, ports, scenario
from real_flights import fly as fly_any
from scenario_tools import SHIPPED
from test_kernel_witnesses import HEADER, PORT, REQUEST, SERVER_MAC, SIZES

from windtunnel.errors import UserError
from windtunnel.host import xdp

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: makes network interfaces and opens XDP sockets"),
]
TAP_KERNEL_IP, TAP_ENGINE_IP = "10.77.2.1", "10.77.2.2"
NOT_HERE = ("this DPDK has no driver", "the kernel gives no XDP socket", "/dev/net/tun")


@dataclass(frozen=True)
class Peer:
    """The kernel at the other end of a wire. `meet` makes it ready, once the engine is."""

    wire: str
    interface: str
    kernel_ip: str
    engine_ip: str
    meet: Callable[[], None]
    command: Callable[..., str]
    udp: Callable[..., socket.socket]

    def server(self, workload: dict, **keys) -> dict:
        side = {"interface": self.interface, "ip": self.engine_ip}
        return scenario(workload, wire={"kind": self.wire}, server=side, **keys) | {"duration": "600ms"}


@contextmanager
def over_xdp() -> Iterator[Peer]:
    with namespace() as made:
        yield Peer("af_xdp", made.interface, KERNEL_IP, ENGINE_IP, lambda: None, made.command, made.udp)


@contextmanager
def over_tap() -> Iterator[Peer]:
    name = f"wtt{secrets.token_hex(3)}"

    def meet():
        run("ip", "address", "add", f"{TAP_KERNEL_IP}/24", "dev", name)

    def command(*words: str) -> str:
        return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout

    def udp(ip: str = "", port: int = 0) -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.bind((ip, port))
        made.settimeout(2)
        return made

    yield Peer("tap", name, TAP_KERNEL_IP, TAP_ENGINE_IP, meet, command, udp)
    assert name not in [interface for _, interface in socket.if_nameindex()], "the interface goes with the engine"


@pytest.fixture(params=[over_xdp, over_tap], ids=["af_xdp", "tap"])
def peer(request):
    with request.param() as made:
        yield made


def fly(directory: Path, data: dict | Path, *sets: str, beside=None) -> Flown:
    """As elsewhere; skips in words where this host lacks the driver or the kernel's part of it."""
    try:
        flown = fly_any(directory, data, *sets, beside=beside)
    except AssertionError as error:
        if any(words in str(error) for words in NOT_HERE):
            pytest.skip(str(error))
        raise
    return flown


def link(interface: str) -> dict:
    """What a flight must not change: addresses, MTU, flags, and what hangs on the interface."""
    shown = subprocess.run(["ip", "-json", "-details", "link", "show", interface], check=True, capture_output=True)
    [found] = json.loads(shown.stdout)
    return {key: found.get(key) for key in ("address", "mtu", "flags", "promiscuity", "allmulti", "xdp")}


@pytest.mark.parametrize(("name", "engine_ip"), [("kernel-af_xdp", ENGINE_IP), ("kernel-tap", "10.77.1.2")])
def test_ping_and_shipped_scenario(tmp_path, name, engine_ip):
    script, made = SHIPPED / f"{name}.sh", Namespace("wt-ping", "wt0")
    tap = name == "kernel-tap"

    def ping():
        words = ("ping", "-q", "-c", "100", "-i", "0.01", engine_ip)
        if not tap:
            return made.command(*words)
        subprocess.run([script], check=True)
        return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout

    if not tap:
        subprocess.run([script, "up"], check=True)
    try:
        flown = fly(tmp_path, SHIPPED / f"{name}.toml", "duration=2s", "warmup=100ms", beside=ping)
    finally:
        if not tap:
            subprocess.run([script, "down"], check=True)
    assert "100 packets transmitted, 100 received, 0% packet loss" in flown.beside
    assert_sound(flown.run)
    assert ports(flown.run, "server")["tx_packets"] >= 101, "an answer to ARP and one to each ping"


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

    flown = fly(tmp_path, peer.server({"packet_handler": "echo"}), beside=talk)
    echoes, neighbour = flown.beside
    assert echoes == sent
    assert SERVER_MAC in neighbour
    assert_sound(flown.run)
    assert "bad_udp_checksum" not in drops(flown.run, "server")


def test_many_datagrams_are_all_accounted_for(tmp_path, peer):
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
            return back

    data = peer.server({"packet_handler": "echo"})
    # without a cache every mbuf of the pool gets its turn in the driver's hands
    data["server"] |= {"rx_descriptors": 64, "tx_descriptors": 64, "mempool": {"cache": 0}}
    flown = fly(tmp_path, data, beside=talk)
    assert_sound(flown.run)
    assert flown.beside > 100
    assert ports(flown.run, "server")["tx_packets"] > flown.beside


def test_client_resolves_the_kernel_and_is_answered_by_a_socket(tmp_path, peer):
    side = {"interface": peer.interface, "ip": peer.engine_ip, "peer_ip": peer.kernel_ip, "rate": "1kpps"}
    data = scenario({"handler": "l_app", "request": 101}, wire={"kind": peer.wire}, client=side)
    landed, taken = threading.Event(), []

    def answer(server: socket.socket):
        while not landed.is_set():
            try:
                message, sender = server.recvfrom(65535)
            except TimeoutError:
                continue
            taken.append(message)
            server.sendto(message, sender)

    # the socket is there before anybody can learn of the kernel's address, so that it sees every message
    with peer.udp(port=PORT) as server:
        server.settimeout(0.1)
        thread = threading.Thread(target=answer, args=[server])
        thread.start()
        try:
            flown = fly(tmp_path, data, beside=peer.meet)
        finally:
            landed.set()
            thread.join()
    assert_sound(flown.run)
    ledger = messages(flown.run)
    assert (ledger.answered, ledger.lost) == (ledger.sent, 0)
    assert len(taken) == ledger.sent > 100
    assert {len(message) for message in taken} == {101}


def test_message_written_by_hand_gets_the_handlers_answer(tmp_path, peer):
    asked = [HEADER.pack(REQUEST, 0, 7, slot, 2 * slot + 1, 0, 1) + bytes(70) for slot in range(20)]

    def talk():
        peer.meet()
        with peer.udp() as client:
            client.connect((peer.engine_ip, PORT))
            answers = []
            for message in asked:
                client.send(message)
                answers.append(client.recv(65535))
            return answers

    flown = fly(tmp_path, peer.server({"handler": "l_app", "request": 86}), beside=talk)
    assert_sound(flown.run)
    assert [answer[1 : HEADER.size] for answer in flown.beside] == [message[1 : HEADER.size] for message in asked]


def test_xdp_leaves_the_interface_as_it_was(tmp_path):
    with over_xdp() as peer:
        before = link(peer.interface)
        seen = fly(tmp_path, peer.server({"packet_handler": "echo"}), beside=lambda: xdp.program(peer.interface))
        assert_sound(seen.run)
        assert seen.beside.startswith("xsk_def_prog (id ")
        assert link(peer.interface) == before
        assert before["xdp"] is None


def test_xdp_program_of_an_engine_that_was_killed_is_taken_away(tmp_path):
    with over_xdp() as peer:
        before = link(peer.interface)

        def kill():
            [engine] = [
                int(process.parent.name)
                for process in Path("/proc").glob("[0-9]*/comm")
                if process.read_text() == "windtunnel-engi\n"
                and (process.parent / "stat").read_text().rpartition(")")[2].split()[1] == str(os.getpid())
            ]
            os.kill(engine, signal.SIGKILL)

        flown = fly(tmp_path, peer.server({"packet_handler": "echo"}), beside=kill)
        [reason] = flown.run.record.verdict.reasons
        assert reason.startswith("engine died: SIGKILL while"), "flying, or about to"
        assert link(peer.interface) == before


def test_interfaces_that_cannot_be_used_are_refused_in_words(tmp_path):
    with over_xdp() as peer:
        data = peer.server({"packet_handler": "echo"})

        def reasons() -> str:
            place = tmp_path / secrets.token_hex(3)
            place.mkdir()
            return " ".join(fly(place, data).run.record.verdict.reasons)

        run("ip", "link", "set", peer.interface, "down")
        assert "is down (ip link set dev" in reasons()
        run("ip", "link", "set", peer.interface, "up", "mtu", "1400")
        assert "its MTU is 1400, the plan's is 1500" in reasons()
        run("ip", "link", "set", peer.interface, "mtu", "1500")
        data["workload"][0]["dispatchers"] = 2
        assert "finds 1 queue(s) in it, the plan wants 2" in reasons()
        with pytest.raises(UserError, match=f'an interface "{peer.interface}" exists'):
            fly(tmp_path, data | {"wire": {"kind": "tap"}})


def test_tap_shares_its_flows_among_queues(tmp_path):
    with over_tap() as peer:
        data = peer.server({"packet_handler": "echo", "dispatchers": 2})

        def talk():
            peer.meet()
            return peer.command("ping", "-q", "-c", "20", "-i", "0.01", peer.engine_ip)

        flown = fly(tmp_path, data, beside=talk)
        assert_sound(flown.run)
        assert "20 received" in flown.beside, "ARP and ICMP are answered on every queue"
