"""Whose a connection on this host is: the kernel knows."""

import contextlib
import errno
import functools
import ipaddress
import os
import socket
import struct
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED = 1

# sock_diag(7). An exact question costs the same however many connections others have; the tables are read whole.
_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY, _NLMSG_ERROR, _NLM_F_REQUEST = 4, 20, 2, 1
_HEADER = struct.Struct("=IHHII")
"""struct nlmsghdr."""
_REQUEST = struct.Struct("=BBBxI")
"""struct inet_diag_req_v2 up to its inet_diag_sockid."""
_ENDS = struct.Struct(">HH16s16s")
"""struct inet_diag_sockid up to its interface."""
_ANY_INTERFACE_AND_COOKIE = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
_STATE_AT, _UID_AT = 17, 80
"""Of a response: struct inet_diag_msg after its header."""


def user(client: Any, server: Any) -> int | None:
    """As `users`, of a kernel that can be asked for one connection. None: another host's, or not known any more. No table is read, because a
    connection costs whoever makes it less than that would cost us."""
    with contextlib.suppress(OSError):
        found = _asked(client, server) if _kernel_responds() else []
        return found[0] if found else None
    return None


class _Kernel:
    """One socket for all questions of a process: each has its response before it returns. To make one takes longer than to ask."""

    def __init__(self) -> None:
        self._begin()
        os.register_at_fork(after_in_child=self._begin)  # two would read each other's responses

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def response(self, question: bytes) -> bytes:
        """Raises OSError."""
        with self._lock:
            asked = self._socket or socket.socket(
                socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, _NETLINK_SOCK_DIAG
            )
            self._socket = None  # where it fails, a response may come to the next question
            asked.send(question)
            found = asked.recv(4096)
            self._socket = asked
        return found


_KERNEL = _Kernel()


def users(client: Any, server: Any) -> list[int]:
    """The user of the client's end of a connection; empty if the kernel has no such connection, or if the client has closed it.

    `client`, `server`: address and port.
    """
    if not client or not server:
        return []
    return _asked(client, server) if _kernel_responds() else listed(client, server)


def may_look(found: list[int]) -> bool:
    """This user, and root."""
    return len(found) == 1 and found[0] in (os.geteuid(), 0)


@functools.cache
def _kernel_responds() -> bool:
    """Whether it knows a connection of ours: one without tcp_diag says of every connection that it is not there."""
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_connection(listening.getsockname()) as made:
        try:
            return _asked(made.getsockname(), made.getpeername()) == [os.geteuid()]
        except OSError:
            return False


def _asked(client: Any, server: Any) -> list[int]:
    """By both addresses and both ports. A socket of IPv6 that is connected by IPv4 is found by IPv4."""
    family = socket.AF_INET6 if ":" in client[0] else socket.AF_INET
    ends = _ENDS.pack(client[1], server[1], _packed(client[0]), _packed(server[0]))
    body = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, 0xFFFFFFFF) + ends + _ANY_INTERFACE_AND_COOKIE
    header = _HEADER.pack(_HEADER.size + len(body), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 0, 0)
    response = _KERNEL.response(header + body)
    if _HEADER.unpack_from(response)[1] == _NLMSG_ERROR:
        (code,) = struct.unpack_from("=i", response, _HEADER.size)
        if code == -errno.ENOENT:
            return []
        raise OSError(-code, os.strerror(-code))
    # without such a connection it may find who listens there, or one that has ended
    return list(struct.unpack_from("=I", response, _UID_AT)) if response[_STATE_AT] == _ESTABLISHED else []


def _packed(address: str) -> bytes:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.inet_pton(family, address.partition("%")[0]).ljust(16, b"\0")


def listed(client: Any, server: Any, tables: Iterable[Path] = TABLES) -> list[int]:
    """The same from /proc. Rows are compared by both addresses and both ports, so that no other connection has the same ones: a second
    row means that they were not read at one moment."""
    ends = {f"{_shown(mapped, client)} {_shown(mapped, server)}" for mapped in (False, True)}
    return [uid for table in tables for uid in _owners(table, ends)]


def _shown(mapped: bool, end: Any) -> str:
    """An address and a port as proc_pid_net(5) has them: words of 32 bits in the host's order. `mapped`: IPv4 on a socket of IPv6."""
    address = ipaddress.ip_address(end[0].partition("%")[0])
    packed = bytes(10) + b"\xff\xff" + address.packed if mapped and address.version == 4 else address.packed
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return f"{''.join(f'{word:08X}' for word in words)}:{end[1]:04X}"


def _owners(table: Path, ends: set[str]) -> Iterator[int]:
    """Of the established sockets between two ends, as proc_pid_net(5) lists them: local address, remote address, state, ..., uid."""
    try:
        lines = table.read_text().split("\n")[1:]
    except OSError:  # a kernel without IPv6
        return
    for line in lines:
        words = line.split()
        if len(words) > 7 and f"{words[1]} {words[2]}" in ends and int(words[3], 16) == _ESTABLISHED:
            yield int(words[7])
