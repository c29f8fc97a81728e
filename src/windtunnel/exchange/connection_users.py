"""The user who owns a connection on this host, as the kernel knows it."""

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
"""Offsets in a response: struct inet_diag_msg after its header."""


def user(client: Any, server: Any) -> int | None:
    """The user of the client's end of a connection, if the kernel can look up one connection. None: it is on another host, or not known any
    more. No table is read, because reading one costs more than making a connection."""
    with contextlib.suppress(OSError):
        uids = _uid_of_kernel(client, server) if _kernel_responds() else []
        return uids[0] if uids else None
    return None


class _Kernel:
    """One netlink socket for all queries of a process, because making one takes longer than a query. Queries do not overlap."""

    def __init__(self) -> None:
        self._begin()
        os.register_at_fork(after_in_child=self._begin)  # two processes would read each other's responses

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def response(self, question: bytes) -> bytes:
        """The kernel's response to a query. Raises OSError."""
        with self._lock:
            netlink = self._socket or socket.socket(
                socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, _NETLINK_SOCK_DIAG
            )
            self._socket = None  # if it fails, the next query may get this response
            netlink.send(question)
            response = netlink.recv(4096)
            self._socket = netlink
        return response


_KERNEL = _Kernel()


def users(client: Any, server: Any) -> list[int]:
    """The user of the client's end of a connection; empty if the kernel has no such connection, or if the client has closed it.

    `client`, `server`: address and port.
    """
    if not client or not server:
        return []
    return _uid_of_kernel(client, server) if _kernel_responds() else users_of_tables(client, server)


def is_own_or_root(uids: list[int]) -> bool:
    """Whether a connection belongs to this user or to root."""
    return len(uids) == 1 and uids[0] in (os.geteuid(), 0)


@functools.cache
def _kernel_responds() -> bool:
    """Whether the kernel finds a connection of ours: without tcp_diag it reports that no connection exists."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.create_connection(listening.getsockname()) as client,
    ):
        try:
            return _uid_of_kernel(client.getsockname(), client.getpeername()) == [os.geteuid()]
        except OSError:
            return False


def _uid_of_kernel(client: Any, server: Any) -> list[int]:
    """Looks up a connection by both addresses and both ports. An IPv6 socket that is connected by IPv4 is found by IPv4."""
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
    # without such a connection it may find the listening socket, or a connection that has ended
    return list(struct.unpack_from("=I", response, _UID_AT)) if response[_STATE_AT] == _ESTABLISHED else []


def _packed(address: str) -> bytes:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.inet_pton(family, address.partition("%")[0]).ljust(16, b"\0")


def users_of_tables(client: Any, server: Any, tables: Iterable[Path] = TABLES) -> list[int]:
    """The users of a connection from the tables in /proc. Rows are compared by both addresses and both ports, which no other connection has: a
    second row means that the tables were not read at one moment."""
    ends = {f"{_proc_text(mapped, client)} {_proc_text(mapped, server)}" for mapped in (False, True)}
    return [uid for table in tables for uid in _owners_in_table(table, ends)]


def _proc_text(mapped: bool, end: Any) -> str:
    """An address and a port as proc_pid_net(5) has them: words of 32 bits in the host's order. `mapped`: IPv4 on a socket of IPv6."""
    address = ipaddress.ip_address(end[0].partition("%")[0])
    packed = bytes(10) + b"\xff\xff" + address.packed if mapped and address.version == 4 else address.packed
    ints = struct.unpack(f"={len(packed) // 4}I", packed)
    return f"{''.join(f'{word:08X}' for word in ints)}:{end[1]:04X}"


def _owners_in_table(table: Path, ends: set[str]) -> Iterator[int]:
    """Owners of the established sockets between two ends. proc_pid_net(5) has the columns: local address, remote address, state, ..., uid."""
    try:
        lines = table.read_text().split("\n")[1:]
    except OSError:  # a kernel without IPv6
        return
    for line in lines:
        fields = line.split()
        if len(fields) > 7 and f"{fields[1]} {fields[2]}" in ends and int(fields[3], 16) == _ESTABLISHED:
            yield int(fields[7])
