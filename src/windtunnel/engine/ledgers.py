"""Ledgers of the engine's lines: the accounts of a whole run, which its result closes. A `missing` other than 0 makes a run invalid."""

from typing import Literal

from pydantic import Field

from windtunnel.engine.line_model import Line
from windtunnel.engine.plan_values import Side


class MbufLedger(Line):
    """allocated = freed + held: `held` names each owner that still had some when the workers had stopped."""

    endpoint: Side
    size: int
    free: int
    held: dict[str, int]
    missing: int = Field(description="size - free - held; anything but 0 makes the run invalid")


class PacketLedger(Line):
    """Packets of one direction, if both ends are ours: sent + duplicated = received + dropped by name + in the wire."""

    source: Side
    sent: int
    duplicated: int
    received: int
    dropped: dict[str, int]
    in_wire: int
    missing: int


class MessageLedger(Line):
    """sent = responses + lost + in flight, over the whole run, warm-up included."""

    workload: int
    offered: int
    unsent: int
    sent: int
    responses: int
    lost: int
    late: int
    duplicates: int
    negative_latency: int | None = Field(
        None, description="responses whose stamp lies before that of their request; null: an older record"
    )
    in_flight: int
    missing: int


CopierKind = Literal["core", "hardware", "modelled"]
"""Who moves the bytes: a core, the worker's or another one, an engine of the host, or one that is given as figures."""


class DriverCopies(Line):
    """What a dmadev's driver has counted."""

    submitted: int
    completed: int
    errors: int


class PlantedFaults(Line):
    fault: str
    count: int


class CpuCopy(Line):
    """One size, the median of 31 batches."""

    bytes: int
    cycles: float = Field(description="TSC cycles of a copy by rte_memcpy")


class CpuCopies(Line):
    """What a copy by the CPU would have cost in the copier's place, measured before the run."""

    from_bytes: int = Field(
        description="what was copied from, piece by piece: the workload's source (of order hot, one request's bytes); without a source, "
        "memory of its own"
    )
    to_places: int = Field(
        description="what was copied to, in turn: mbufs, as many as one application may have in flight if one worker has room for them in "
        "its cache, else all that were free; of a stream, the writes that its send buffer holds"
    )
    costs: list[CpuCopy] = Field(description="ascending by size, up to the largest copy of a packet")


class CopyLedger(Line):
    """The copies of one application over the whole run: submitted = ended + never ended."""

    workload: int
    endpoint: Side = Field("client", description="client: of requests; server: of responses")
    application: int
    engine: str = Field(description="the copier")
    kind: CopierKind
    device: str
    cpu: int | None = Field(
        description="CPU on which the thread of a software copier runs, as the kernel says; null: it has none"
    )
    cpu_ns: int | None = Field(description="CPU time of that thread (schedstat)")
    at_least_bytes: int = Field(description="smaller copies were left to the CPU")
    cpu_copies: CpuCopies | None = Field(None, description="null: copies end with their submit, or there are none")
    submitted: int = Field(description="copies that the copier took")
    measuring: int = Field(
        description="of these, copies that only measured: before the run, and the ways of the host's probes"
    )
    ended: int = Field(description="those that it reported, well or failed")
    copies: int = Field(description="copies of packets that ended well")
    by_cpu: dict[str, int] = Field(description="reason -> copies that the CPU made in its place")
    uncopied: int
    bytes: int
    never_ended: int = Field(
        description="copies that the copier took and had not ended at its timeout: anything but 0 makes the run invalid"
    )
    missing: int = Field(description="submitted - ended - never_ended; anything but 0 makes the run invalid")
    driver: DriverCopies | None = Field(
        description="the driver's own account, which must be the same; null: the copier has no driver"
    )
    planted: PlantedFaults | None


class WrongByte(Line):
    """The first wrong byte that was found: of which message, and where in its request or response."""

    application: int = Field(description="the client's")
    slot: int
    generation: int
    offset: int


class VerifiedLedger(Line):
    """Packets whose every byte one application checked: a server those of requests, a client those of responses."""

    workload: int
    endpoint: Side = Field("server", description="who checked")
    application: int
    packets: int
    wrong_packets: int = Field(description="anything but 0 makes the run invalid")
    wrong_bytes: int
    first: WrongByte | None


StreamState = Literal["idle", "connecting", "listening", "open", "peer finished", "finishing", "closed", "reset"]


class StreamChecks(Line):
    """Bytes that a server compared with the source."""

    bytes: int
    wrong_bytes: int = Field(description="anything but 0 makes the run invalid")
    first_wrong: int | None = Field(description="its position in the stream")


class StreamLedger(Line):
    """One end of one TCP connection: written = acknowledged + buffered."""

    workload: int
    endpoint: Side
    application: int
    state: StreamState = Field(
        description="closed: its FIN is acknowledged. A client's is anything else only in a run that was cut short"
    )
    written: int = Field(description="bytes given to TCP")
    acknowledged: int = Field(description="of these, by the peer's numbers")
    buffered: int = Field(description="and what the send buffer still holds")
    missing: int = Field(description="written - acknowledged - buffered; anything but 0 makes the run invalid")
    read: int = Field(description="bytes that the application read")
    checked: StreamChecks | None = Field(description="null: not asked for")
    sent_segments: int
    retransmitted_segments: int
    timeouts: int = Field(description="retransmissions after a second or more without progress, the least RTO")
    window_probes: int
