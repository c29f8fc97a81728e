"""Ports of plans before version 3, which had a kind and a key for each option of any kind, as ports with a wire and its options.

The traits are those that these wires had then: what was recorded does not change with a later descriptor.
"""

from typing import Any

Document = dict[str, Any]

_BOTH = ["server", "client", "both_ends"]
_KERNEL = ["server", "client", "foreign_peer", "leaves_mac"]
TRAITS = {
    "ring": [*_BOTH, "together", "twice", "moves_mbufs", "emulates"],
    "null": ["server", "client", "silent", "unfilled", "twice"],
    "pcap": ["server", "silent", "twice"],
    "af_packet": _KERNEL,
    "memif": [*_BOTH, "process_each", "foreign_peer", "emulates", "leaves_mac"],
    "pci": ["server", "client", "foreign_peer", "nic"],
    "af_xdp": [*_KERNEL, "dense_pool"],
    "tap": _KERNEL,
}
OPTIONS = {
    "packet_bytes": "packet",
    "copy_bytes": "copy",
    "replay": "replay",
    "pace": "pace",
    "interface": "interface",
    "socket": "socket",
    "memif_role": "role",
    "memif_buffer_bytes": None,
}
"""Old key -> option; None: it followed from the pool."""
NIC = {"address": "pci", "steering": "steering", "offloads": "offloads"}


def migrate_port(port: Document) -> None:
    """Changes `port`."""
    wire = port.pop("kind")
    old = {new: port.pop(key, None) for key, new in OPTIONS.items()}
    old |= {NIC[key]: value for key, value in (port.pop("nic", None) or {}).items()}
    options = {name: _text(value) for name, value in old.items() if name and value is not None}
    timed = ["timed"] if options.get("pace") == "capture" else []
    port |= {"wire": wire, "traits": [*TRAITS[wire], *timed], "options": options}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "|".join(value) if isinstance(value, list) else str(value)
