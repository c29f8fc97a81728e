"""Checks across keys that need no host. Impossible scenarios are refused with a reason."""

from windtunnel.part_registry import part_modules
from windtunnel.scenario import part_resources, wires
from windtunnel.scenario.carriers import all_reliable, carrier_of
from windtunnel.scenario.client_checks import check_client
from windtunnel.scenario.frame_checks import check_frames
from windtunnel.scenario.keys import Client, Scenario
from windtunnel.scenario.refusal import Path, Refusal
from windtunnel.scenario.topology import Topology, both_sides, topologies
from windtunnel.scenario.wire_options import OptionTable
from windtunnel.scenario.wires import SIDES

MAX_WINDOWS = 100_000


def check(scenario: Scenario) -> None:
    """Raises Refusal for the first error."""
    _phases(scenario)
    _wire(scenario)
    _sides(scenario)
    _roles(scenario)
    _macs(scenario)
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
            f"accounting.sample_every: {every} is not a prime number",
            f"a prime number, so that the sampling does not follow a pattern of the loop: {primes[0]} or {primes[1]}",
        )
    if scenario.record is not None and not _plain_name(scenario.record):
        raise Refusal(
            ("record",),
            f'record: "{scenario.record}" is not the name of a pcap in the run directory',
            'as in "run.pcap"',
        )


def _wire(scenario: Scenario) -> None:
    _required(scenario, "wire", scenario.wire)
    for key, what in (("faults", "faults cannot be emulated"), ("link", "a link cannot be emulated")):
        if getattr(scenario.wire, key) is not None and not _emulates(scenario):
            raise Refusal(
                ("wire", key),
                f'{what} on the wire "{scenario.wire.kind}"',
                f"wire.kind = {wires.named('emulates')}, if Windtunnel runs both endpoints; if all workloads are streams, the peer may be another program",
            )
        if getattr(scenario.wire, key) is not None and wires.is_reliable(scenario):
            option = next(option for option in scenario.descriptor.options if option.lossy)
            raise Refusal(
                ("wire", key),
                f'{what} if the wire "{scenario.wire.kind}" is reliable: nothing may be lost there',
                f'{option.name} = "{option.lossy}", or no {key}',
            )
    if wires.has(scenario, "unframed"):
        _without_frames(scenario)


def _without_frames(scenario: Scenario) -> None:
    """Refuses what needs Ethernet frames."""
    kind, others = scenario.wire.kind, "a wire that carries Ethernet frames"
    if scenario.record is not None:
        raise Refusal(
            ("record",),
            f'there is nothing to record on the wire "{kind}": it carries no frames',
            f"no record, or {others}",
        )
    for index, workload in enumerate(scenario.workload):
        if workload.packet_handler is not None:
            raise Refusal(
                ("workload", index, "packet_handler"),
                f'a packet handler works on frames, and the wire "{kind}" carries none',
                f"a message handler, or {others}",
            )


def _emulates(scenario: Scenario) -> bool:
    """Faults and links work on what an endpoint sends. To a peer that is not ours they suit what is sent again alone."""
    return wires.has(scenario, "emulates") or (wires.has(scenario, "foreign_peer") and all_reliable(scenario))


def _required(scenario: Scenario, where: str, table: OptionTable) -> None:
    """Raises Refusal if an option is missing without which there is no such wire. A socket's place is found if none is named."""
    options = wires.values(scenario, table)
    for option in scenario.descriptor.options:
        if option.required and option.type != "socket" and options.get(option.name, "") is None:
            raise Refusal(
                (where,),
                f"{where}.{option.name} is missing",
                f'{option.help}, as in {option.name} = "{option.example}"',
            )


def _sides(scenario: Scenario) -> None:
    if both_sides(scenario):
        return
    kind, foreign_peer = scenario.wire.kind, wires.has(scenario, "foreign_peer")
    ours = [f"[{side}]" for side in SIDES if wires.has(scenario, side)]
    if scenario.client is None and scenario.server is None:
        raise Refusal(("wire",), f'no endpoint on the wire "{kind}"', f"a table {' or '.join(ours)}")
    for side in SIDES:
        if getattr(scenario, side) is not None and not wires.has(scenario, side):
            what = (
                f'the wire "{kind}" sends no responses to a {side}'
                if side == "client"
                else f'the wire "{kind}" has no {side}'
            )
            raise Refusal((side,), what, f"only {ours[0]}, or wire.kind = {wires.named('both_ends')}")
    if scenario.client is not None and not foreign_peer:
        if scenario.server is not None:
            raise Refusal(
                ("client",),
                f'nothing connects client and server on the wire "{kind}"',
                f"one of them, or wire.kind = {wires.named('both_ends')}",
            )
        if scenario.client.peer_mac == "resolve":
            what = f'the wire "{kind}" has no peer that responds to ARP'
            raise Refusal(("client", "peer_mac"), what, 'peer_mac = "auto", or a MAC address')
    for side in SIDES:
        if (keys := getattr(scenario, side)) is not None:
            _required(scenario, side, keys)


def _roles(scenario: Scenario) -> None:
    """Raises Refusal if both ends have the same role for their driver: they would deadlock."""
    if not both_sides(scenario):
        return
    for option in (option for option in scenario.descriptor.options if option.role):
        given = {side: wires.value(scenario, option.name, side) or "side" for side in SIDES}
        roles = {side: side if role == "side" else role for side, role in given.items()}
        if roles["server"] != roles["client"]:
            continue
        side = next(side for side in reversed(SIDES) if given[side] != "side")
        raise Refusal(
            (side, option.name),
            f'{side}.{option.name} is "{given[side]}", and so is the other end of the wire "{scenario.wire.kind}"',
            f'{option.name} = "side" at both ends, or "client" for the server and "server" for the client',
        )


def _macs(scenario: Scenario) -> None:
    for side in SIDES:
        keys = getattr(scenario, side)
        if keys is not None and keys.mac == "nic" and not wires.has(scenario, "own_mac"):
            raise Refusal(
                (side, "mac"),
                f'a port on the wire "{scenario.wire.kind}" has no MAC that could be the {side}\'s',
                f"a MAC address, or wire.kind = {wires.named('own_mac')}",
            )


def _workloads(scenario: Scenario) -> None:
    names: set[str] = set()
    for index, workload in enumerate(scenario.workload):
        here: Path = ("workload", index)
        carrier = carrier_of(workload)
        if workload.handler is None and workload.packet_handler is None and carrier is None:
            raise Refusal(here, f"workload {index} has no handler", 'handler = "l_app", or packet_handler = "echo"')
        if carrier:
            carrier.check(scenario, index)
        if workload.name in names:
            raise Refusal((*here, "name"), f'two workloads are called "{workload.name}"', "a unique name for each")
        if workload.name:
            names.add(workload.name)
        if workload.extra_ticks and workload.handler is None and workload.packet_handler is not None:
            raise Refusal(
                (*here, "extra_ticks"),
                "extra_ticks is work of a message handler, and this workload has a packet handler alone",
                "no extra_ticks, or a packet handler of your own that does the work",
            )
        if workload.packet_options and not (workload.handler and workload.packet_handler):
            raise Refusal(
                (*here, "packet_options"),
                "packet_options need a message handler and a packet handler",
                "options = {...}",
            )
        for key in ("request", "response"):
            if f"{key}_sizes" in workload.model_fields_set and key in workload.model_fields_set:
                raise Refusal((*here, key), f"{key} cannot be combined with {key}_sizes", "one of them")
        responses = "response_sizes" if workload.response_sizes else "response"
        if workload.handler is None and getattr(workload, responses) not in (None, workload.request):
            raise Refusal(
                (*here, responses),
                "a packet handler without a message handler returns the bytes of the request",
                "the request's size, or no response",
            )
        if workload.groups and (sum(workload.groups), len(workload.groups)) != (workload.apps, workload.dispatchers):
            raise Refusal(
                (*here, "groups"),
                f"groups of {', '.join(map(str, workload.groups))} applications, with apps = {workload.apps}, dispatchers = {workload.dispatchers}",
                f"apps = {sum(workload.groups)}, dispatchers = {len(workload.groups)}",
            )
        own = workload.client.dispatchers
        if own not in (None, workload.dispatchers) and wires.has(scenario, "paired_queues"):
            raise Refusal(
                (*here, "client", "dispatchers"),
                f"client.dispatchers = {own}, dispatchers = {workload.dispatchers}: on the wire "
                f'"{scenario.wire.kind}" each queue is connected to one of the other side',
                "as many on both sides, or a wire that brings each frame to the queue of its UDP port: "
                f"{wires.named('both_ends', without=('paired_queues',))} or {wires.named('nic')}",
            )
        part_resources.check(scenario, index)


def _endpoint(scenario: Scenario, topology: Topology) -> None:
    for part in part_modules("traffic"):
        part.check_endpoint(scenario, topology)
    check_frames(scenario, topology)
    side, keys, wire = topology.side, topology.keys, scenario.descriptor
    for name, ring in (("rx_free", "rx_descriptors"), ("tx_free", "tx_descriptors"), ("tx_rs", "tx_descriptors")):
        threshold, descriptors = getattr(keys.thresholds, name), getattr(keys, ring)
        if threshold is not None and threshold > descriptors:
            what = f"{side}.thresholds.{name} is {threshold}, more than the {descriptors} descriptors of the ring"
            raise Refusal((side, "thresholds", name), what, f"at most {descriptors}, or a larger {side}.{ring}")
    queues = len(topology.dispatchers)
    if queues > wire.most_queues:
        raise Refusal(
            ("workload",),
            f'{queues} dispatchers, but a port on the wire "{wire.name}" has at most {wire.most_queues} queues',
            "fewer dispatchers",
        )
    if wire.most_mtu and keys.mtu > wire.most_mtu:
        raise Refusal((side, "mtu"), f"{side}.mtu: {keys.mtu} is {wire.mtu_why}", f"at most {wire.most_mtu}")
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
    """Ends in .pcap, so that it overwrites no other file of the run directory."""
    return "/" not in name and name.endswith(".pcap") and len(name.encode()) <= 200
