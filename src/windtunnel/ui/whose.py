"""Whose a connection on this host is: the kernel knows."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_ESTABLISHED = "01"


def users(client: Any, server: Any, tables: Iterable[str] = TABLES) -> set[int]:
    """The users of the client's end of a connection; none where the kernel has no such connection."""
    if not client or not server:
        return set()
    ends = f"{client[1]:04X}", f"{server[1]:04X}"
    return {uid for table in tables for uid in _owners(Path(table), *ends)}


def may_look(found: set[int]) -> bool:
    """This user, and root."""
    return bool(found) and found <= {os.geteuid(), 0}


def _owners(table: Path, port: str, peer_port: str) -> Iterator[int]:
    """Of the established sockets between two ports, as proc_pid_net(5) lists them: local address, remote address, state, ..., uid."""
    try:
        lines = table.read_text().splitlines()[1:]
    except OSError:  # a kernel without IPv6
        return
    for line in lines:
        words = line.split()
        if words[1].endswith(f":{port}") and words[2].endswith(f":{peer_port}") and words[3] == _ESTABLISHED:
            yield int(words[7])
