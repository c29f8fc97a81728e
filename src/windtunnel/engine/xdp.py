"""XDP programs on kernel interfaces, found and removed with `ip` (iproute2).

net_af_xdp attaches libxdp's default program to its interface by netlink, which outlives a process that is killed (seen
with DPDK 22.11, libxdp 1.3.1); one that ends in order removes it.
"""

import json
import subprocess
from typing import Any

OURS = "xsk_def_prog"
"""Name of libxdp's default program for XDP sockets."""


def program(interface: str) -> str | None:
    """The program on an interface, as in "xsk_def_prog (id 110)"; None if there is none, or none can be seen."""
    attached = _attached(interface)
    return f"{attached.get('name', 'without a name')} (id {attached.get('id')})" if attached else None


def remove_default_program(interface: str) -> None:
    """Takes libxdp's default program from an interface; leaves any other where it is. Raises nothing."""
    attached = _attached(interface)
    if attached and attached.get("name") == OURS:
        _ip("link", "set", "dev", interface, "xdp", "off")


def _attached(interface: str) -> dict[str, Any] | None:
    try:
        [link] = json.loads(_ip("-json", "-details", "link", "show", "dev", interface))
    except ValueError:
        return None
    prog: dict[str, Any] | None = link.get("xdp", {}).get("prog")
    return prog


def _ip(*arguments: str) -> str:
    """What `ip` prints; nothing if it fails or is missing."""
    try:
        return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True, timeout=10).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
