"""Checks of TCP streams: one connection an application, a peer with TCP, and no keys of messages."""

from windtunnel.engine.plan_values import Stage
from windtunnel.parts.copies.resources import check_copier, copies_of, source_of
from windtunnel.parts.streams.keys import Stream, stream_keys
from windtunnel.parts.streams.sizes import send_buffer_bytes
from windtunnel.scenario import wires
from windtunnel.scenario.frames import ip_version
from windtunnel.scenario.keys import Scenario, Workload
from windtunnel.scenario.quantities import write
from windtunnel.scenario.refusal import Path, Refusal
from windtunnel.scenario.topology import Topology, both_sides, endpoint

OF_MESSAGES = {
    "handler": "a stream has no handler: the server's application reads",
    "packet_handler": "a stream has no handler: the dispatchers run TCP",
    "options": "a stream has no handler that takes options",
    "request": "a stream has no requests: the client writes",
    "response": "a stream has no responses: the peer acknowledges bytes",
    "request_sizes": "a stream has no requests: the client writes",
    "response_sizes": "a stream has no responses: the peer acknowledges bytes",
    "timeout": "a write is not lost: TCP sends its bytes until the peer acknowledges them",
    "extra_ticks": "additional work belongs to messages",
}
"""Keys of messages over UDP, and why a stream has no use for them."""
_TCP: tuple[Stage, ...] = ("app_tx", "app_rx", "disp_tx", "disp_rx")
_LINE = 64


def check(scenario: Scenario, index: int) -> None:
    """Raises Refusal for the first error of a workload that is a stream."""
    workload = scenario.workload[index]
    stream = stream_keys(workload)
    if stream is None:
        return
    here: Path = ("workload", index)
    unset = Workload()  # a resolved scenario has every key
    for key, why in OF_MESSAGES.items():
        if getattr(workload, key) != getattr(unset, key):
            raise Refusal((*here, key), f"{key} has no effect on a stream: {why}", f"no {key}, or no table stream")
    _wire(scenario, stream, here)
    _sizes(scenario, stream, index)
    _copies(scenario, stream, index)
    _connections(scenario, workload, here)


def check_endpoint(scenario: Scenario, topology: Topology) -> None:
    """Raises Refusal if addresses are not IPv4, or if [[worker]] tables part what runs one connection."""
    streams = [index for index, workload in enumerate(scenario.workload) if stream_keys(workload)]
    if streams and ip_version(topology.keys.ip) == 6:
        raise Refusal(
            (topology.side, "ip"), f"workload {streams[0]} is a stream, which is TCP over IPv4", "an IPv4 address"
        )
    worker_of = {name: n for n, worker in enumerate(topology.keys.worker) for name in worker.stages}
    if not worker_of:
        return
    for index, application in enumerate(topology.applications):
        if application.workload not in streams:
            continue
        stages = [f"{s}:{application.dispatchers[0] if s.startswith('disp') else index}" for s in _TCP]
        placed = {name: worker_of[name] for name in stages if name in worker_of}
        if len(set(placed.values())) > 1:
            names = ", ".join(placed)
            raise Refusal(
                (topology.side, "worker", max(placed.values()), "stages"),
                f"{topology.side}: {names} run on several workers, and TCP belongs to one thread",
                "these stages on one worker",
            )


def _wire(scenario: Scenario, stream: Stream, here: Path) -> None:
    if wires.has(scenario, "silent"):
        raise Refusal(
            (*here, "stream"),
            f'on the wire "{scenario.wire.kind}" there is no TCP peer',
            f"wire.kind = {wires.named(without=('silent',))}",
        )
    foreign = [side for side in wires.SIDES if endpoint(scenario, side) is None]
    if not stream.checksum and foreign:
        raise Refusal(
            (*here, "stream", "checksum"),
            f"the {foreign[0]} is not in this scenario, and TCP of others drops segments without a checksum",
            f"checksum = true, or a table [{foreign[0]}]",
        )


def _sizes(scenario: Scenario, stream: Stream, index: int) -> None:
    here: Path = ("workload", index, "stream")
    if stream.write % _LINE:
        less = stream.write // _LINE * _LINE
        raise Refusal(
            (*here, "write"),
            f"a write of {stream.write} bytes is not a multiple of {_LINE}: writes begin on cache lines of the source",
            f"{less} or {less + _LINE}",
        )
    if send_buffer_bytes(stream) < stream.write:
        held = write("size", send_buffer_bytes(stream))
        raise Refusal(
            (*here, "send_buffer" if stream.send_buffer is not None else "write"),
            f"a send buffer of {held} does not hold a write of {write('size', stream.write)}",
            f"at least {write('size', stream.write)}, or smaller writes",
        )
    source = source_of(scenario, index)
    if source and source.bytes < stream.write:
        raise Refusal(
            ("workload", index, "source", "bytes"),
            f"a source of {write('size', source.bytes)} does not hold a write of {write('size', stream.write)}",
            f"at least {write('size', stream.write)}",
        )


def _copies(scenario: Scenario, stream: Stream, index: int) -> None:
    copies, here = copies_of(scenario, index), ("workload", index, "copies")
    if copies is None:
        return
    check_copier(scenario, index, copies, here)
    if copies.way != "pipelined":
        raise Refusal(
            (*here, "way"),
            f'way = "{copies.way}" is for packets; a stream commits each copy to the send buffer when it has ended',
            'way = "pipelined"',
        )
    if isinstance(copies.at_least, int) and copies.at_least > stream.write:
        raise Refusal(
            (*here, "at_least"),
            f"no copy of a stream is larger than a write, {write('size', stream.write)}: the CPU would make them all",
            f"at most {write('size', stream.write)}",
        )
    if copies.verify and endpoint(scenario, "server") is None:
        raise Refusal(
            (*here, "verify"),
            "the server checks the bytes, and this scenario has none",
            "a table [server], or a peer that checks them, as scenarios/stream-to-kernel.py does",
        )


def _connections(scenario: Scenario, workload: Workload, here: Path) -> None:
    own = {key: value for key in ("apps", "dispatchers") if (value := getattr(workload.client, key)) is not None}
    unlike = [key for key, value in own.items() if value != workload.apps]
    if workload.apps != workload.dispatchers or unlike:
        path: Path = (*here, "client", unlike[0]) if unlike else (*here, "dispatchers")
        given = "".join(f"client.{key} = {value}, " for key, value in own.items())
        raise Refusal(
            path,
            f"apps = {workload.apps}, {given}dispatchers = {workload.dispatchers}: each application of a stream has a connection and a dispatcher of its own",
            "as many dispatchers as applications, the same on both sides",
        )
    for path, colocate in (("colocate",), workload.colocate), (("client", "colocate"), workload.client.colocate):
        if colocate is False:
            raise Refusal(
                (*here, *path),
                "a stream's application and dispatcher run on one worker: TCP belongs to one thread",
                "colocate = true",
            )
    if sum(each.dispatchers for each in scenario.workload) > 1 and not both_sides(scenario):
        raise Refusal(
            (*here, "stream"),
            f'a stream beside other queues on the wire "{scenario.wire.kind}", which may bring its packets to any queue',
            f"one workload with one dispatcher, or wire.kind = {wires.named('both_ends')}",
        )
