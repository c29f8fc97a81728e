"""A plan of a stream, the ledgers of its two ends after a run that went well, and what plans of tests have of streams."""

import copy
from typing import Any

import sample_lines as sample
from part_samples import plan_fields

from windtunnel.engine.plan import Plan
from windtunnel.parts.streams.ledger import StreamChecks, StreamLedger
from windtunnel.parts.streams.plan import Stream
from windtunnel.parts.streams.rows import StreamRow

ROWS = {"stream": StreamRow}
LATER_KEYS = {("stream",)}
RUN_ELSEWHERE = {"stream-to-kernel"}
"""In test_streams_that_run."""
COMMANDS = ("import epping",)
WITHOUT_HANDLERS = {"name": "stream", "handler": None, "packet_handler": None}
OF_STREAMS = ("source", "copies", "stream")
"""What a workload that is a stream has of the fields of parts."""
WRITE = 1 << 20
CLIENT = StreamLedger(
    workload=0,
    endpoint="client",
    application=0,
    state="closed",
    written=8 * WRITE,
    acknowledged=8 * WRITE,
    buffered=0,
    missing=0,
    read=0,
    checked=None,
    sent_segments=5760,
    retransmitted_segments=7,
    timeouts=1,
    window_probes=2,
)
SERVER = CLIENT.model_copy(
    update={
        "endpoint": "server",
        "written": 0,
        "acknowledged": 0,
        "read": 8 * WRITE,
        "checked": StreamChecks(bytes=8 * WRITE, wrong_bytes=0, first_wrong=None),
        "sent_segments": 2,
    }
)


def stream_plan() -> Plan:
    made = sample.plan()
    [workload], client = made.workloads, made.endpoints[0]
    stream = Stream(
        write_bytes=WRITE,
        send_buffer_bytes=4 * WRITE,
        receive_buffer_bytes=4 * WRITE,
        read_bytes=65536,
        congestion="cubic",
        checksums=True,
    )
    workload = workload.model_copy(update={"stream": stream, "handler": None})
    client = client.model_copy(update={"peer_ip": "10.77.0.9", "peer_udp_port": 9000})
    return made.model_copy(update={"workloads": [workload], "endpoints": [client, *made.endpoints[1:]]})


def complete_plan(plan: dict[str, Any]) -> None:
    """Gives the stream that the first workload has to one of its own, because a stream has no handler."""
    workload = copy.deepcopy(plan["workloads"][0])
    stream = workload | plan_fields("WORKLOAD") | {key: workload[key] for key in OF_STREAMS} | WITHOUT_HANDLERS
    stream["copies"]["way"] = "pipelined"
    stream["source"]["bytes"] = stream["stream"]["write_bytes"] = stream["stream"]["send_buffer_bytes"]
    plan["workloads"][0]["stream"] = None
    plan["workloads"].append(stream)
