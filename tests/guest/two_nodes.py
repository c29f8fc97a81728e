"""A machine of two NUMA nodes, each with a CPU, half of the memory and a bus of its own, as QEMU makes it and as the planning must see it."""

from collections import Counter
from collections.abc import Sequence

import machine

from windtunnel.host.cpu_topology import NumaNode, alike

ONE_NODE = alike([0, 1])
TWO_NODES = ONE_NODE.model_copy(update={"nodes": [NumaNode(node=node, cpus=[node]) for node in (0, 1)]})
FIRST_BRIDGE = 0x10
"""Slot of the first node's host bridge."""
BUSES = (0x10, 0x20)
"""Of each node's host bridge. The bus of a NIC is behind a port of it."""

Where = int | None
"""The node of a NIC's bus; None: the first bus, of which nobody says it."""


def words() -> list[str]:
    """Of QEMU's command line."""
    said = []
    for node, bus in enumerate(BUSES):
        said += ["-object", f"memory-backend-ram,id=memory{node},size={machine.MEMORY_MIB // len(BUSES)}M"]
        said += ["-numa", f"node,nodeid={node},cpus={node},memdev=memory{node}"]
        said += [
            "-device",
            f"pxb-pcie,id=bus{node},bus=pcie.0,addr={FIRST_BRIDGE + node:#x},bus_nr={bus},numa_node={node}",
        ]
    return said


def place(number: int, where: Where) -> tuple[list[str], str]:
    """QEMU's words for the port that a NIC needs, and where the NIC is then."""
    if where is None:
        return [], f"bus=pcie.0,addr={machine.FIRST_SLOT + number}"
    port = f"pcie-root-port,id=port{number},bus=bus{where},chassis={number + 1},addr={number}"
    return ["-device", port], f"bus=port{number},addr=0"


def addresses(of_nics: Sequence[Where]) -> list[str]:
    """The NICs' addresses in the guest: buses behind a host bridge are numbered in the order of its ports."""
    before: Counter[int] = Counter()
    found = []
    for number, where in enumerate(of_nics):
        if where is None:
            found.append(f"0000:00:{machine.FIRST_SLOT + number:02x}.0")
            continue
        before[where] += 1
        found.append(f"0000:{BUSES[where] + before[where]:02x}:00.0")
    return found
