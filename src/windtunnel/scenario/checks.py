"""What keys mean for each other, as far as no host is needed: impossible scenarios are refused here, with the reason."""

from windtunnel.scenario.client_checks import check_client
from windtunnel.scenario.keys import Client, Scenario
from windtunnel.scenario.match_tables import check_tables
from windtunnel.scenario.refusal import Path, Refusal
from windtunnel.scenario.topology import Topology, both_sides, topologies

MAX_WINDOWS = 100_000
QUEUES = {"ring": 16, "null": 64, "pcap": 16, "af_packet": 16, "memif": 64, "pci": 64, "af_xdp": 64, "tap": 16}
"""Of one port: limits of the DPDK 22.11 drivers net_ring, net_pcap, net_af_packet and net_tap; 64 is the plan's."""
INTERFACES = {
    "af_packet": 'the kernel interface, as in interface = "veth0"',
    "af_xdp": 'the kernel interface, as in interface = "veth0"',
    "tap": 'the name of the interface to make, as in interface = "wt-tap"',
}
"""Wires with the kernel as peer -> what stands in `interface`."""
WIRE_KEYS = {"packet": "null", "copy": "null", "replay": "pcap", "pace": "pcap", "socket": "memif"}
WIRE_ATTRIBUTES = {"copy": "copy_bytes"}
XDP_MTU = 2048 - 256 - 14
"""XDP_PACKET_HEADROOM of linux/bpf.h and an Ethernet header beside it."""


def check(scenario: Scenario) -> None:
    """Raises Refusal for the first thing that cannot be."""
    _phases(scenario)
    _wire(scenario)
    _sides(scenario)
    _workloads(scenario)
    for topology in topologies(scenario):
        _endpoint(scenario, topology)
        if isinstance(topology.keys, Client):
            check_client(scenario, topology, topology.keys)


def _phases(scenario: Scenario) -> None:
    if scenario.duration // scenario.window > MAX_WINDOWS:
        raise Refusal(("window",), f"more than {MAX_WINDOWS} windows", "a longer window, or a shorter duration")
    every = scenario.accounting.sample_every
    if every > 1 and not _is_prime(every):
        primes = (
            next(n for n in range(every, 0, -1) if _is_prime(n) or n == 1),
            next(n for n in range(every, 131072) if _is_prime(n)),
        )
        raise Refusal(
            ("accounting", "sample_every"),
            f"accounting.sample_every: {every} is not a prime",
            f"a prime, so that no pattern of the loop hides from it: {primes[0]} or {primes[1]}",
        )
    if scenario.record is not None and not _plain_name(scenario.record):
        raise Refusal(
            ("record",),
            f'record: "{scenario.record}" is not the name of a pcap in the run directory',
            'as in "flight.pcap"',
        )


def _wire(scenario: Scenario) -> None:
    wire = scenario.wire
    for key, kind in WIRE_KEYS.items():
        if getattr(wire, WIRE_ATTRIBUTES.get(key, key)) is not None and wire.kind != kind:
            raise Refusal(
                ("wire", key),
                f'wire.{key} has no meaning on the wire "{wire.kind}"',
                f'wire.kind = "{kind}", or no {key}',
            )
    if wire.kind == "pcap" and wire.replay is None:
        raise Refusal(("wire",), "wire.replay is missing", 'the capture to play in, as in replay = "frames.pcap"')
    for key, what in (("faults", "faults cannot be planted"), ("link", "a link cannot be emulated")):
        if getattr(wire, key) is not None and not both_sides(scenario):
            raise Refusal(
                ("wire", key),
                f'{what} on the wire "{wire.kind}"',
                'wire.kind = "ring" or "memif", where both ends are ours',
            )


def _sides(scenario: Scenario) -> None:
    kind = scenario.wire.kind
    if both_sides(scenario):
        return
    if scenario.client is None and scenario.server is None:
        raise Refusal(
            ("wire",),
            f'no endpoint on the wire "{kind}"',
            "a table [server]" + ("" if kind == "pcap" else " or [client]"),
        )
    if kind == "pcap" and scenario.client is not None:
        raise Refusal(("client",), "a replayed capture answers no client", 'only [server], or wire.kind = "ring"')
    if kind == "null" and scenario.client is not None:
        if scenario.server is not None:
            raise Refusal(
                ("client",),
                'nothing connects client and server on the wire "null"',
                'one of them, or wire.kind = "ring"',
            )
        if scenario.client.peer_mac == "resolve":
            raise Refusal(
                ("client", "peer_mac"), 'nobody answers ARP on the wire "null"', 'peer_mac = "auto", or a MAC address'
            )
    for side in ("client", "server"):
        keys = getattr(scenario, side)
        if keys is not None and kind in INTERFACES and keys.interface is None:
            raise Refusal((side,), f"{side}.interface is missing", INTERFACES[kind])
        if keys is not None and kind == "af_xdp" and keys.mtu > XDP_MTU:
            raise Refusal(
                (side, "mtu"),
                f"{side}.mtu: {keys.mtu} is too much for XDP: its headroom and a frame share an mbuf of 2 KiB",
                f"at most {XDP_MTU}",
            )
        if keys is not None and kind == "pci" and keys.pci is None:
            raise Refusal((side,), f"{side}.pci is missing", 'the NIC\'s address, as in pci = "0000:02:00.0"')


def _workloads(scenario: Scenario) -> None:
    names: set[str] = set()
    for index, workload in enumerate(scenario.workload):
        here: Path = ("workload", index)
        if workload.handler is None and workload.packet_handler is None:
            raise Refusal(here, f"workload {index} has no handler", 'handler = "l_app", or packet_handler = "echo"')
        if workload.name in names:
            raise Refusal((*here, "name"), f'two workloads are called "{workload.name}"', "a name of its own for each")
        if workload.name:
            names.add(workload.name)
        if workload.packet_options and not (workload.handler and workload.packet_handler):
            raise Refusal(
                (*here, "packet_options"), "packet_options stand beside a message handler's", "options = {...}"
            )
        for key in ("request", "response"):
            if f"{key}_sizes" in workload.model_fields_set and key in workload.model_fields_set:
                raise Refusal((*here, key), f"{key} stands beside {key}_sizes", "one of them")
        answers = "response_sizes" if workload.response_sizes else "response"
        if workload.handler is None and getattr(workload, answers) not in (None, workload.request):
            raise Refusal(
                (*here, answers),
                "a packet handler alone answers with the request's own bytes",
                "the request's size, or no response",
            )
        check_tables(scenario, index)


def _endpoint(scenario: Scenario, topology: Topology) -> None:
    side, keys, kind = topology.side, topology.keys, scenario.wire.kind
    for key in ("ring_size", "rx_descriptors", "tx_descriptors"):
        value = getattr(keys, key)
        if value & (value - 1):
            near = 1 << value.bit_length() - 1
            raise Refusal((side, key), f"{side}.{key}: {value} is not a power of two", f"{near} or {2 * near}")
    for name, ring in (("rx_free", "rx_descriptors"), ("tx_free", "tx_descriptors"), ("tx_rs", "tx_descriptors")):
        threshold, descriptors = getattr(keys.thresholds, name), getattr(keys, ring)
        if threshold is not None and threshold > descriptors:
            what = f"{side}.thresholds.{name} is {threshold}, and the ring has {descriptors} descriptors"
            raise Refusal((side, "thresholds", name), what, f"at most {descriptors}, or a larger {side}.{ring}")
    if keys.interface is not None and kind not in INTERFACES:
        raise Refusal(
            (side, "interface"),
            f'{side}.interface has no meaning on the wire "{kind}"',
            "wire.kind = " + " or ".join(f'"{name}"' for name in INTERFACES),
        )
    for key in ("pci", "steering", "offloads"):
        if getattr(keys, key) is not None and kind != "pci":
            raise Refusal((side, key), f'{side}.{key} has no meaning on the wire "{kind}"', 'wire.kind = "pci"')
    queues = len(topology.dispatchers)
    if queues > QUEUES[kind]:
        raise Refusal(
            ("workload",),
            f'{queues} dispatchers, but a port on the wire "{kind}" has {QUEUES[kind]} queues at most',
            "fewer dispatchers",
        )
    if keys.port + queues - 1 > 65535:
        raise Refusal(
            (side, "port"),
            f"{side}.port: queue {queues - 1} would have a port above 65535",
            f"at most {65536 - queues}",
        )
    if keys.worker and keys.cores != "auto":
        raise Refusal((side, "cores"), f"{side} has both cores and [[{side}.worker]]", "one of them")
    size = keys.mempool.size
    if size != "auto" and keys.mempool.cache * 3 > size * 2:
        raise Refusal(
            (side, "mempool", "cache"),
            f"{side}.mempool.cache: {keys.mempool.cache} is more than the pool's size / 1.5",
            f"at most {size * 2 // 3}",
        )


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def _plain_name(name: str) -> bool:
    """Ends in .pcap, so that it meets no other file of the run directory."""
    return "/" not in name and name.endswith(".pcap") and len(name.encode()) <= 200
