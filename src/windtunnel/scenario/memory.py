"""The engine's memory: its mode, its size, and the arguments of rte_eal_init."""

from collections.abc import Mapping, Sequence
from typing import get_args

from windtunnel.engine.plan import Eal
from windtunnel.engine.plan_values import Memory
from windtunnel.engine.telemetry import socket_path
from windtunnel.scenario import wires
from windtunnel.scenario.host import HostView
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.placement import cpu_list
from windtunnel.scenario.refusal import Refusal
from windtunnel.scenario.topology import Topology

Mode = Memory
MODES: tuple[Mode, ...] = get_args(Mode)
MIB = 1 << 20
PAGE_BYTES = 2 * MIB
SMALL_PAGE_BYTES = 4096
HEADROOM_BYTES = 128
"""RTE_PKTMBUF_HEADROOM."""
FRAME_OVERHEAD_BYTES = 14 + 4 + 2 * 4
"""Ethernet header, frame check sequence, two VLAN tags: what drivers of Intel's NICs add to an MTU."""
BUFFER_STEP_BYTES = 1024
FLOOR_BYTES = 64 * MIB
"""What DPDK 22.11 has for itself, ports and rings without being asked for more."""
MBUF_BYTES = 128 + 64 + 64
"""struct rte_mbuf, the pool's header of an object, and its padding for the memory channels."""


def data_room_bytes(mtu: int) -> int:
    """Room of an mbuf: DPDK's own 2 KiB, or a whole frame of a larger MTU, and the headroom. A frame with two VLAN tags and its
    check sequence must fit a receive buffer, which NICs take in steps: ixgbe and igb of 1 KiB (SRRCTL.BSIZEPKT), i40e and ice of
    128 bytes (DBUFF). A driver rounds what is left over down, and then splits frames over several mbufs."""
    return HEADROOM_BYTES + max(2048, -(-(mtu + FRAME_OVERHEAD_BYTES) // BUFFER_STEP_BYTES) * BUFFER_STEP_BYTES)


def wanted_bytes(endpoints: Sequence[tuple[Topology, int]], mode: Mode, tables: int = 0) -> int:
    """Memory of one engine, whole 2 MiB pages, for endpoints given with the mbufs of their pools, and the bytes of tables."""
    need = tables + sum(
        _pool_bytes(size, topology.keys.mtu, mode) + _rings_bytes(topology) for topology, size in endpoints
    )
    return -(-(FLOOR_BYTES + need * 9 // 8) // PAGE_BYTES) * PAGE_BYTES  # an eighth to spare for alignment


def _pool_bytes(size: int, mtu: int, mode: Mode) -> int:
    """The mbufs, and the ring of free ones, which rounds up to a power of two. Without hugepages rte_mempool lets no mbuf lie
    across the end of a page, so that each takes whole ones."""
    mbuf = MBUF_BYTES + data_room_bytes(mtu)
    if mode == "no-huge":
        mbuf = -(-mbuf // SMALL_PAGE_BYTES) * SMALL_PAGE_BYTES
    return size * mbuf + 8 * (2 << size.bit_length())


def _rings_bytes(topology: Topology) -> int:
    keys = topology.keys
    wire = len(topology.dispatchers) * (keys.rx_descriptors + keys.tx_descriptors)
    crossings = 3 * len(topology.dispatchers)  # as if every hand-over inside a dispatcher had a ring
    return 8 * ((topology.rings + crossings) * keys.ring_size + wire)


def choose(scenario: Scenario, host: HostView, needs: Mapping[Mode, int]) -> Mode:
    """The memory mode for the bytes that all engines together need in each. Raises Refusal if the host has not as much."""
    need = needs["hugepages"]
    if scenario.memory != "no-huge" and host.hugepages_usable and host.hugepages_free_bytes >= need:
        return "hugepages"
    pages = wires.need(scenario, "hugepages")
    if pages and scenario.memory == "no-huge":
        raise Refusal(
            ("memory",),
            f'the wire "{scenario.wire.kind}" cannot run without hugepages: {pages.why}',
            'memory = "hugepages", or no memory',
        )
    if scenario.memory == "hugepages" or pages:
        raise Refusal(
            ("memory",),
            f"{need // MIB} MiB of hugepages needed, "
            + (f"{host.hugepages_free_bytes // MIB} MiB are free" if host.hugepages_usable else "none can be used"),
            f"as root: echo {need // PAGE_BYTES} > /proc/sys/vm/nr_hugepages"
            + ("" if pages else '; or memory = "no-huge"'),
        )
    need = needs["no-huge"]
    if host.memory_bytes is not None and need > host.memory_bytes * 3 // 4:
        raise Refusal(
            ("memory",),
            f"{need // MIB} MiB needed, the machine has {host.memory_bytes // MIB} MiB",
            "a smaller inflight, smaller messages or a smaller mempool",
        )
    return "no-huge"


def eal(
    mode: Mode, need: int, main: Sequence[int], lcores: Mapping[int, int], prefix: str, nics: Sequence[str] = ()
) -> Eal:
    """Arguments of one engine; `lcores` has CPU -> lcore. The main lcore floats over `main` and never touches a packet. What addresses
    a NIC understands is for EAL to find out; virtual devices always take those of the process."""
    placed = ",".join([f"0@({cpu_list(main)})", *(f"{lcore}@{cpu}" for cpu, lcore in lcores.items())])
    memory = ["--in-memory"] if mode == "hugepages" else ["--no-huge", "-m", str(need // MIB)]
    devices = [word for nic in nics for word in ("-a", nic)] if nics else ["--no-pci", "--iova-mode=va"]
    args = ["--lcores", placed, "--main-lcore", "0", *devices, "--file-prefix", prefix]
    telemetry = [] if socket_path(prefix) else ["--no-telemetry"]
    return Eal(args=[*args, *memory, *telemetry, "--log-level=warning"], memory=mode, file_prefix=prefix)
