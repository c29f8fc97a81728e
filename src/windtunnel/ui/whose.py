"""Whose a connection on this host is: the kernel knows."""

import ipaddress
import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED = "01"


def users(client: Any, server: Any, tables: Iterable[Path] = TABLES) -> list[int]:
    """The user of the client's end of a connection; empty if the kernel has no such connection, or if the client has closed it.

    `client`, `server`: address and port. Rows are compared by both addresses and both ports, so that no other connection has the same
    ones: a second row means that they were not read at one moment.
    """
    if not client or not server:
        return []
    ends = {f"{_shown(mapped, client)} {_shown(mapped, server)}" for mapped in (False, True)}
    return [uid for table in tables for uid in _owners(table, ends)]


def may_look(found: list[int]) -> bool:
    """This user, and root."""
    return len(found) == 1 and found[0] in (os.geteuid(), 0)


def _shown(mapped: bool, end: Any) -> str:
    """An address and a port as proc_pid_net(5) has them: words of 32 bits in the host's order. `mapped`: IPv4 on a socket of IPv6."""
    address = ipaddress.ip_address(end[0].partition("%")[0])
    packed = address.packed if not mapped or address.version == 6 else bytes(10) + b"\xff\xff" + address.packed
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
        if len(words) > 7 and f"{words[1]} {words[2]}" in ends and words[3] == _ESTABLISHED:
            yield int(words[7])
