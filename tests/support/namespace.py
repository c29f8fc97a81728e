"""A network namespace behind a veth, for tests in which the kernel's own tools and sockets meet the engine. Needs root."""

import ctypes
import os
import secrets
import socket
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kernel_vlan

KERNEL_IP, ENGINE_IP = "10.77.0.1", "10.77.0.2"
ETH_P_ALL = 3
CLONE_NEWNET = 0x40000000
"""Of <sched.h>; os.setns comes with Python 3.12."""
SO_RCVBUFFORCE = 33
"""Of <asm-generic/socket.h>: not limited by rmem_max."""


@dataclass(frozen=True)
class Namespace:
    name: str
    interface: str
    """The end of the veth that the engine opens."""

    def command(self, *words: str) -> str:
        """Runs a command inside to its end; what it printed."""
        inside = ["ip", "netns", "exec", self.name, *words]
        return subprocess.run(inside, check=True, capture_output=True, text=True, timeout=60).stdout

    def udp(self, ip: str = "", port: int = 0) -> socket.socket:
        """A UDP socket that lives inside, of the family of `ip`, with two seconds of patience, and with room for what comes while its reader has no CPU."""

        def make() -> socket.socket:
            _enter(self.name)
            made = socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET, socket.SOCK_DGRAM)
            made.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
            made.bind((ip, port))
            made.settimeout(2)
            return made

        return _in_thread_of_its_own(make)

    def end(self) -> str:
        """The end of the veth that is inside."""
        [end] = [name for name in self.command("ls", "/sys/class/net").split() if name.startswith("wtk")]
        return end

    def join_vlan(self, number: int) -> None:
        """Whatever the kernel inside sends has this tag from now on, and it receives nothing else."""

        def join() -> None:
            _enter(self.name)
            kernel_vlan.join(self.end(), number)

        _in_thread_of_its_own(join)

    def listening(self, port: int) -> socket.socket:
        """A TCP socket that waits for connections inside, with twenty seconds of patience."""

        def make() -> socket.socket:
            _enter(self.name)
            made = socket.create_server(("", port))
            made.settimeout(20)
            return made

        return _in_thread_of_its_own(make)

    def connected(self, ip: str, port: int) -> socket.socket:
        """A TCP socket from inside to there, likewise."""

        def make() -> socket.socket:
            _enter(self.name)
            return socket.create_connection((ip, port), timeout=20)

        return _in_thread_of_its_own(make)

    def raw(self) -> socket.socket:
        """A packet socket on the interface inside, likewise: whole frames."""

        def make() -> socket.socket:
            _enter(self.name)
            made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            made.bind((self.interface, 0))
            made.settimeout(2)
            return made

        return _in_thread_of_its_own(make)

    def mac_of(self, ip: str) -> str | None:
        """What the kernel inside has learned by ARP."""
        words = self.command("ip", "neigh", "show", ip).split()
        return words[words.index("lladdr") + 1] if "lladdr" in words else None


def veth_pair(name: str, peer: str, *where: str) -> list[str]:
    """The words for `ip` that make one. Their indexes are drawn: net_af_packet makes the number of a fanout group of its process and the
    interface's index, and those of engines that start beside each other would meet if each index were the next that is free."""
    first, second = (str(1 + secrets.randbelow(2**30)) for _ in range(2))
    return ["link", "add", name, "index", first, "type", "veth", "peer", "name", peer, "index", second, *where]


@contextmanager
def namespace(mtu: int = 1500) -> Iterator[Namespace]:
    """One with names of its own, gone afterwards. UDP checksums are made by its kernel, as a NIC would make them."""
    token = secrets.token_hex(3)
    made = Namespace(f"wt-test-{token}", f"wte{token}")
    inside = f"wtk{token}"
    run("ip", "netns", "add", made.name)
    try:
        run("ip", *veth_pair(made.interface, inside, "netns", made.name))
        Path(f"/proc/sys/net/ipv6/conf/{made.interface}/disable_ipv6").write_text("1")
        made.command("ethtool", "-K", inside, "tx", "off")
        made.command("ip", "address", "add", f"{KERNEL_IP}/24", "dev", inside)
        for where, interface in ((["-n", made.name], inside), ([], made.interface)):
            run("ip", *where, "link", "set", interface, "mtu", str(mtu), "up")
        yield made
    finally:
        run("ip", "netns", "delete", made.name)  # takes the veth along, both ends


@contextmanager
def two_hosts() -> Iterator[dict[str, Namespace]]:
    """A namespace for each side, gone afterwards, with a veth between them: both ends have the name of the shipped scenario."""
    token = secrets.token_hex(3)
    hosts = {side: Namespace(f"wt-{side}-{token}", "wt0") for side in ("server", "client")}
    server, client = hosts.values()
    try:
        for host in hosts.values():
            run("ip", "netns", "add", host.name)
        run("ip", "-n", server.name, "link", "add", "wt0", "type", "veth", "peer", "name", "wt0", "netns", client.name)
        for host in hosts.values():
            host.command("sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/wt0/disable_ipv6")
            run("ip", "-n", host.name, "link", "set", "wt0", "up")
        yield hosts
    finally:
        for host in hosts.values():
            run("ip", "netns", "delete", host.name)


def run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, timeout=60)


def _in_thread_of_its_own(function: Callable[[], Any]) -> Any:
    """The namespace is a thread's, and the thread ends with it."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def _enter(name: str) -> None:
    with open(f"/run/netns/{name}") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), name)
