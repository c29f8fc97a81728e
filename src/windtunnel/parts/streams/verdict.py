"""What is wrong with a run that had TCP streams."""

from collections.abc import Iterator

from windtunnel.engine.history import History, SupervisedRun
from windtunnel.engine.lines import Result
from windtunnel.engine.reasons import reason
from windtunnel.parts.copies.ledger import copies_of
from windtunnel.parts.streams.ledger import StreamLedger, streams_of


def unsound(history: History, result: Result) -> Iterator[str]:
    """Ledgers that do not close, and bytes that arrived wrong."""
    for stream in streams_of(result):
        if stream.missing:
            yield reason(
                "ledger open",
                f"{stream.missing} bytes missing of {stream.written} that {_end_of(history, stream)}, wrote "
                f"(acknowledged {stream.acknowledged}, buffered {stream.buffered})",
            )
    for stream in streams_of(result):
        checked = stream.checked
        if checked and checked.wrong_bytes:
            yield reason(
                "copies wrong",
                f"{checked.wrong_bytes} of {checked.bytes} bytes that {_end_of(history, stream)}, read, the first at "
                f"byte {checked.first_wrong} of the stream",
            )


def _end_of(history: History, stream: StreamLedger) -> str:
    name = history.plan.workloads[stream.workload].name
    return f"application {stream.application} of the {stream.endpoint}, workload {name}"


def lost_connections(history: History, result: Result, finished: SupervisedRun) -> Iterator[str]:
    """Streams that never began, or did not end as they should. A connection that was given up with its copies is named by these."""
    given_up = {copies.workload for copies in copies_of(result) if copies.never_ended}
    for stream in streams_of(result):
        who = _end_of(history, stream)
        if stream.workload in given_up:
            continue
        if stream.endpoint == "client" and stream.state in ("idle", "connecting"):
            if finished.stopped:
                continue
            yield reason("no connection", f"no response to {who} from {_peer(history, stream)}")
        elif stream.state == "reset" and stream.endpoint == "client" and stream.written == 0:
            yield reason("no connection", f"{_peer(history, stream)} has reset {who}: nobody listens there")
        elif stream.state == "reset":
            moved = (
                f"{stream.acknowledged} of {stream.written} bytes acknowledged"
                if stream.endpoint == "client"
                else f"{stream.read} bytes read"
            )
            yield reason("stream reset", f"the connection of {who}, with {moved}")


def _peer(history: History, stream: StreamLedger) -> str:
    """The address that the client's end of a stream connects to."""
    client = next(endpoint for endpoint in history.plan.endpoints if endpoint.side == "client")
    dispatcher = client.dispatchers[client.applications[stream.application].dispatchers[0]]
    queue = dispatcher.peers[0] if dispatcher.peers else dispatcher.queue  # records before `peers` have pairs of queues
    return f"port {(client.peer_udp_port or 0) + queue} of {client.peer_ip}"
