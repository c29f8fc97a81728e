"""What keys mean for each other, as far as no host is needed: impossible scenarios are refused here, with the reason."""

from windtunnel.scenario.keys import Client, Scenario, Server
from windtunnel.scenario.refusal import Path, Refusal
from windtunnel.scenario.topology import (
    IP_UDP_HEADER_BYTES,
    MESSAGE_HEADER_BYTES,
    Topology,
    both_sides,
    endpoint,
    rates,
    response_bytes,
    segments,
    topologies,
)

MAX_SEGMENTS = 65535
MAX_WINDOWS = 100_000
QUEUES = {"ring": 16, "null": 64, "pcap": 16, "af_packet": 16, "memif": 64}
"""Of one port: limits of the DPDK 22.11 drivers net_ring, net_pcap and net_af_packet; 64 is the plan's."""
WIRE_KEYS = {"packet": "null", "copy": "null", "replay": "pcap", "socket": "memif"}
WIRE_ATTRIBUTES = {"copy": "copy_bytes"}


def check(scenario: Scenario) -> None:
    """Raises Refusal for the first thing that cannot be."""
    _phases(scenario)
    _wire(scenario)
    _sides(scenario)
    _workloads(scenario)
    for topology in topologies(scenario):
        _endpoint(scenario, topology)
    client = endpoint(scenario, "client")
    if isinstance(client, Client):
        _client(scenario, client)
        _messages_fit(scenario, client)


def _phases(scenario: Scenario) -> None:
    if scenario.window > scenario.duration:
        raise Refusal(("window",), "window is longer than duration", "a window that is at most the duration")
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
            f'record: "{scenario.record}" is not the name of a file in the run directory',
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
    if wire.faults is not None and not both_sides(scenario):
        raise Refusal(
            ("wire", "faults"),
            f'faults cannot be planted on the wire "{wire.kind}"',
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
        if keys is not None and kind == "af_packet" and keys.interface is None:
            raise Refusal((side,), f"{side}.interface is missing", 'the kernel interface, as in interface = "veth0"')


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
        if workload.handler is None and workload.response not in (None, workload.request):
            raise Refusal(
                (*here, "response"),
                "a packet handler alone answers with the request's own bytes",
                "the request's size, or no response",
            )


def _endpoint(scenario: Scenario, topology: Topology) -> None:
    side, keys, kind = topology.side, topology.keys, scenario.wire.kind
    for key in ("ring_size", "rx_descriptors", "tx_descriptors"):
        value = getattr(keys, key)
        if value & (value - 1):
            near = 1 << value.bit_length() - 1
            raise Refusal((side, key), f"{side}.{key}: {value} is not a power of two", f"{near} or {2 * near}")
    if keys.interface is not None and kind != "af_packet":
        raise Refusal(
            (side, "interface"), f'{side}.interface has no meaning on the wire "{kind}"', 'wire.kind = "af_packet"'
        )
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


def _client(scenario: Scenario, client: Client) -> None:
    topology = next(t for t in topologies(scenario) if t.side == "client")
    for application in topology.applications:
        budget, batch = application.inflight, client.batch.app_tx
        if batch > budget:
            raise Refusal(
                _blamed_for_batch(scenario, client, application.workload),
                f"client.batch.app_tx is {batch}, but an application of workload {application.workload} may have only {budget} "
                "messages in flight: a full batch would never come together",
                f"client.batch.app_tx = {budget}, or a larger inflight"
                if budget
                else "a larger inflight, or fewer applications",
            )
    server = endpoint(scenario, "server")
    if isinstance(server, Server):
        if client.mtu != server.mtu:
            raise Refusal(
                ("client", "mtu"),
                f"client.mtu is {client.mtu}, server.mtu {server.mtu}",
                "the same on both sides of a wire",
            )
        for key in ("ip", "mac"):
            if getattr(client, key) == getattr(server, key):
                raise Refusal(
                    ("client", key), f"client and server have the same {key}", f"another {key} for one of them"
                )
    for index, (workload, rate) in enumerate(zip(scenario.workload, rates(scenario, client), strict=True)):
        if scenario.wire.kind == "null" and rate is None:
            raise Refusal(
                ("client",),
                'a closed loop waits for answers, and the wire "null" gives none',
                'an open loop: rate = "1Mpps"',
            )
        most = sum(a.inflight for a in topology.applications if a.workload == index) * 10**9 / workload.timeout
        if scenario.wire.kind == "null" and rate > most:
            raise Refusal(
                ("workload", index, "timeout"),
                f"without answers a message keeps its place in flight until the timeout: {most:.0f} a second at most",
                f"a timeout of at most {int(most * workload.timeout / rate)} ns, or a larger inflight",
            )


def _blamed_for_batch(scenario: Scenario, client: Client, workload: int) -> Path:
    """The key that somebody wrote: of a batch and a budget that do not go together, one may be a default."""
    if scenario.workload[workload].inflight is not None:
        return "workload", workload, "inflight"
    return ("client", "batch", "app_tx") if "app_tx" in client.batch.model_fields_set else ("client", "inflight")


def _messages_fit(scenario: Scenario, client: Client) -> None:
    for index, workload in enumerate(scenario.workload):
        for key, size in (("request", workload.request), ("response", response_bytes(workload))):
            if segments(size, client.mtu) > MAX_SEGMENTS:
                room = -(-(size - MESSAGE_HEADER_BYTES) // MAX_SEGMENTS)
                raise Refusal(
                    ("workload", index, key),
                    f"{key} of workload {index} needs {segments(size, client.mtu)} segments at an MTU of {client.mtu}; {MAX_SEGMENTS} is the most",
                    f"an mtu of at least {room + MESSAGE_HEADER_BYTES + IP_UDP_HEADER_BYTES}",
                )


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def _plain_name(name: str) -> bool:
    return name not in ("", ".", "..") and not set(name) & {"/", "\0"} and len(name.encode()) <= 200
