"""The JSON lines that the engine writes, one object per line, to a descriptor of their own.

Order: phase* hello phase* (window | phase | peer)* result, or error at any point; if only handlers are opened, phase* hello
(phase | handler)*. Times are nanoseconds since the engine's start unless the name says otherwise; cycles are TSC ticks. A value that
could not be had is null, never zero. A counter that is added has the default null, for older records.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from windtunnel.engine.histogram import Histogram
from windtunnel.engine.ledgers import MbufLedger, MessageLedger, PacketLedger
from windtunnel.engine.line_model import Line
from windtunnel.engine.part_fields import with_fields_of_parts
from windtunnel.engine.plan_values import Memory, Side
from windtunnel.engine.windows import HandlerCounterWindow, Window

LINES_VERSION = 5


class Hello(Line):
    """Identifies the engine, once EAL is up and before ports are opened."""

    type: Literal["hello"]
    version: Literal[5]
    engine: str
    build: str | None = Field(
        None, description="the linker's build id of the engine, in hex; null: linked without one, or an older record"
    )
    dpdk: str
    pid: int
    plan_hash: str
    tsc_hz: int = Field(gt=0)
    tsc_source: str = Field(
        description="how the frequency was found: measured against CLOCK_MONOTONIC_RAW, or DPDK's own"
    )
    memory: Memory
    numa_sockets: int


OPENING_PORTS = "opening ports"
WAITING_FOR_LINK = "waiting for the link"
LINGERING = "lingering"
"""Phase of the client of a memif wire: its workers have ended, and it keeps its port open for a server that still polls."""


class Phase(Line):
    """Announces what is entered next, so that a crash has a name: "opening ./libmine.so"."""

    type: Literal["phase"]
    name: str
    at_ns: int


class Ready(Line):
    """Everything is open; the workers start now."""

    type: Literal["ready"]
    at_ns: int
    level_cost_ticks: float = Field(
        description="what the accounting level adds to one stage call, measured on an empty stage"
    )
    stamp_ticks: float = Field(description="what reading the clock once costs")
    timed_call_ticks: float | None = Field(
        None,
        description="what reading the clock adds to the cycles of a timed call, measured on empty stages; null: an older record",
    )
    drivers: dict[str, str] = Field(description="endpoint's side -> ethdev driver")
    notes: list[str] = Field(
        description="what a reader of the numbers must know: no copy on net_ring, emulated loss, ..."
    )


class Peer(Line):
    """The other host has said its hello, and runs the same plan; what is measured starts after this."""

    type: Literal["peer"]
    at_ns: int
    session: str = Field(description="random, and the same on both hosts: it says which two runs belong together")


class Traced(Line):
    """The result of a trace."""

    events: int = Field(description="in the file")
    missed: int = Field(description="events that are not: no room on their way, beyond the limit, or after a fault")
    fault: str | None = Field(description="why the file ends early, in the system's words")


class Pacing(Line):
    """How a capture was played at its own times, over the whole run: every frame that fell due enters, however late."""

    start_ns: int = Field(description="when the first frame fell due")
    round_ns: int = Field(description="from one playing of the capture to the next: its length and one mean gap")
    late: Histogram = Field(description="ns from a frame's own time to its entry; its total is the frames")


@with_fields_of_parts("ledger")
class Result(Line):
    type: Literal["result"]
    at_ns: int
    reason: Literal["duration", "messages", "stopped", "parent lost", "peer lost", "peer stopped", "stream reset"]
    measured_ns: int
    clock_error_ppm: float = Field(
        description="how much faster the TSC's nanoseconds ran than CLOCK_MONOTONIC_RAW, over the run, in parts a million"
    )
    mbufs: list[MbufLedger]
    packets: list[PacketLedger]
    messages: list[MessageLedger]
    counters: list[HandlerCounterWindow] = Field(description="over the whole run; levels at its end")
    xstats: dict[Side, dict[str, int]] | None = Field(
        description="what each port has counted since its start that counts itself (a NIC, by its driver's names), zeros left out; "
        "null: none does"
    )
    pacing: Pacing | None = Field(description="null if no capture is played at its own times")
    worker_allocations: int | None = Field(
        description="heap allocations on worker threads after start; null: not watched"
    )
    recorded: int | None = Field(description="frames in the pcap; null if nothing is recorded")
    recorded_received: int | None = Field(
        None, description="frames in the pcap of what was received; null if none is: both ends are in the engine"
    )
    record_missed: int | None = Field(description="frames that the recorder could not take")
    trace: Traced | None
    peak_rss_bytes: int
    hugepage_bytes: int


class Handler(Line):
    """A message handler that was opened and called once, with one request. An engine that only opens handlers writes it."""

    type: Literal["handler"]
    workload: int
    name: str
    response_bytes: int | None = Field(description="of its response, message header included; null: it sent none")


class RefusedHandler(Line):
    """The workload and kind of the handler that was refused, or that refused."""

    workload: int
    kind: Literal["message", "packet"]


class Error(Line):
    """A refusal with a message, before or instead of a run."""

    type: Literal["error"]
    message: str
    remedy: str | None
    handler: RefusedHandler | None = Field(None, description="null: no handler refused, nor was one refused")


AnyLine = Annotated[Hello | Phase | Ready | Peer | Window | Result | Handler | Error, Field(discriminator="type")]
LINE = TypeAdapter(AnyLine, config=ConfigDict(defer_build=True))
