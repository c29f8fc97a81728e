"""The kernel at the other end of a wire, for tests of every wire that has it there. Needs root."""

import re
import secrets
import socket
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from namespace import ENGINE_IP, KERNEL_IP, namespace, run
from real_runs import SupervisedRun, scenario
from real_runs import execute as run_any

PORT = 9000
IP_FREEBIND = 15
"""linux/in.h; Python 3.11 does not name it."""
CLIENT_MAC, SERVER_MAC = "02:77:74:00:00:01", "02:77:74:00:00:02"
SIZES = (0, 1, 2, 17, 18, 19, 86, 255, 1001, 1023, 1471, 1472)
"""UDP payloads; 18 fills the shortest frame, 1472 the MTU."""
HEADER = struct.Struct(">BBHIIHH")
REQUEST, RESPONSE = 0x11, 0x12
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


def outside(*words: str) -> str:
    """Runs a command on the host itself to its end; what it printed."""
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout


def ping(command: Callable[..., str], ip: str, count: int) -> list[int]:
    """The numbers of the first `count` pings that were answered. With a deadline, ping goes on until so many are: else it ends within two round
    trips of its last one, and what a busy host answers later counts as lost."""
    said = command("ping", "-c", str(count), "-w", "30", "-i", "0.01", ip)
    return [int(number) for number in re.findall(r"icmp_seq=(\d+) ", said)][:count]


@contextmanager
def over_veth() -> Iterator[Peer]:
    with namespace() as made:
        yield Peer("af_packet", made.interface, KERNEL_IP, ENGINE_IP, lambda: None, made.command, made.udp)


@contextmanager
def over_xdp() -> Iterator[Peer]:
    with namespace() as made:
        yield Peer("af_xdp", made.interface, KERNEL_IP, ENGINE_IP, lambda: None, made.command, made.udp)


@contextmanager
def over_tap() -> Iterator[Peer]:
    """In a subnet of its own: the interface is the host's, beside those of other tests."""
    name = f"wtt{secrets.token_hex(3)}"
    subnet = f"10.78.{secrets.randbelow(256)}"
    kernel_ip, engine_ip = f"{subnet}.1", f"{subnet}.2"

    def meet():
        run("ip", "address", "add", f"{kernel_ip}/24", "dev", name)

    def udp(ip: str = "", port: int = 0) -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        # the interface, and so its address, come later; at any other address the port may be somebody's
        made.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
        made.bind((ip or kernel_ip, port))
        made.settimeout(2)
        return made

    yield Peer("tap", name, kernel_ip, engine_ip, meet, outside, udp)
    assert name not in [interface for _, interface in socket.if_nameindex()], "the interface goes with the engine"


def execute(directory: Path, data: dict | Path, *sets: str, beside=None) -> SupervisedRun:
    """As elsewhere; skips in words where this host lacks the driver or the kernel's part of it."""
    try:
        finished = run_any(directory, data, *sets, beside=beside)
    except AssertionError as error:
        if any(words in str(error) for words in NOT_HERE):
            pytest.skip(str(error))
        raise
    return finished
