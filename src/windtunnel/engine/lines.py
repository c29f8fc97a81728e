"""The JSON lines that the engine writes, one object a line, to a descriptor of their own.

Order: phase* hello phase* (window | phase | met)* result, or error at any point. Times are nanoseconds since the engine's start unless the
name says otherwise; cycles are TSC ticks. A value that could not be had is null, never zero.

History of the lines' version:
1  first flight
2  second flight: every wire, loads in phases, links, two hosts, traces
3  validity: stolen time, the cores' speed, the clock's error, messages that find no place
4  tables: the steps of handlers and what handlers count themselves
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from windtunnel.engine.plan import Side, Stage

LINES_VERSION = 4


class Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Histogram(Line):
    """Log-linear histogram: values below 2**bits are exact, above that each power of two has 2**(bits-1) buckets.

    `counts` holds [lowest value of the bucket, count] for the buckets that are not empty, ascending. With bits = 11 the
    buckets are those of an HdrHistogram of 3 significant digits.
    """

    bits: int
    counts: list[tuple[int, int]]
    total: int
    sum: int
    min: int | None
    max: int | None


class Hello(Line):
    """Says who speaks, once EAL is up and before ports are opened."""

    type: Literal["hello"]
    version: Literal[4]
    engine: str
    dpdk: str
    pid: int
    plan_hash: str
    tsc_hz: int
    tsc_source: str = Field(
        description="how the frequency was found: measured against CLOCK_MONOTONIC_RAW, or DPDK's own"
    )
    memory: Literal["hugepages", "no-huge"]
    numa_sockets: int


LANDED = "landed"
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
    drivers: dict[str, str] = Field(description="endpoint's side -> ethdev driver")
    notes: list[str] = Field(
        description="what a reader of the numbers must know: no copy on net_ring, emulated loss, ..."
    )


class Met(Line):
    """The other host has said its hello, and flies the same plan; what is measured starts after this."""

    type: Literal["met"]
    at_ns: int
    session: str = Field(description="random, and the same on both hosts: it says which two runs belong together")


class StageWindow(Line):
    endpoint: Side
    stage: Stage
    index: int
    worker: int = Field(description="position in the plan's workers")
    calls: int
    empty_calls: int
    objects: int
    burst: dict[int, int] = Field(description="objects a call -> calls")
    timed_calls: int = Field(description="calls whose cycles were taken: all at `cycles`, every Nth loop at `sampled`")
    timed_objects: int
    busy_cycles: int = Field(description="of timed calls that did something or were held up")
    idle_cycles: int = Field(description="of timed calls that found nothing to do")
    stall_cycles: int = Field(description="part of busy: waiting for an mbuf, room in a ring, or the port")
    traffic_cycles: int = Field(
        description="of timed calls, spent by a handler that makes its own traffic; in none of those"
    )
    stalled_calls: int = Field(description="calls that were held up, timed or not")
    interrupted_calls: int
    interrupted_cycles: int = Field(description="of calls above the threshold; in neither busy, idle nor stall")
    drops: dict[str, int] = Field(description="reason -> packets")
    completion: Histogram | None = Field(description="ticks of a batch, stall included; at `histograms`")
    stall: Histogram | None = Field(description="stall ticks of a batch; at `histograms`")


class StepWindow(Line):
    """One step of the handler that a stage calls; what a call took that was interrupted is left out, as in its stage."""

    endpoint: Side
    stage: Stage
    index: int
    worker: int = Field(description="position in the plan's workers")
    step: str
    traffic: bool = Field(description="it makes the traffic that the handler then meets: not the data plane's work")
    cycles: int = Field(description="of timed calls")
    packets: int = Field(description="that went through it in timed calls; of a message handler, messages")
    stamps: int = Field(description="times that the clock was read for it: each adds ready.stamp_ticks to `cycles`")


class FigureWindow(Line):
    """What a handler counts itself. A count or a wrong is what the window added, a level the state at its end."""

    endpoint: Side
    stage: Stage
    index: int
    of: str = Field(description="what it belongs to, as a table's name; empty: to the handler")
    name: str
    unit: str
    kind: Literal["count", "level", "wrong"] = Field(description="wrong: anything but 0 makes the run invalid")
    value: int


class WorkerWindow(Line):
    worker: int
    cpu: int
    loops: int
    cycles: int = Field(description="TSC ticks that the worker's window lasted")
    timed_cycles: int = Field(description="TSC ticks of the loops that were timed")
    run_delay_ns: int | None = Field(
        description="time in which it was runnable and the kernel ran somebody else (schedstat)"
    )
    on_cpu_ns: int | None
    stolen_ns: int = Field(
        description="time in which the hypervisor ran somebody else on the CPU, in steps of 10 ms; 0 where it does not say"
    )
    chain_ticks: float | None = Field(
        description="median TSC ticks of a fixed chain of multiplications, taken some 50 times a window: they rise when the "
        "core's clock falls; null: none was taken"
    )
    wide_ticks: float | None = Field(
        description="mean ticks of additions that fill the core: they rise when another hardware thread shares it"
    )


class PortWindow(Line):
    endpoint: Side
    rx_packets: int
    rx_bytes: int = Field(description="mbuf bytes, no FCS; counted where disp_rx takes the packets")
    rx_bursts: int = Field(description="calls of rte_eth_rx_burst that gave something")
    tx_packets: int
    tx_bytes: int = Field(
        description="likewise; counted where packets are handed to nic_tx, on an emulated wire by nic_tx"
    )
    tx_bursts: int
    doorbells: int | None = Field(
        description="tail writes that announce what is sent; null where the driver has none, or it is not known when it writes"
    )


class WorkloadWindow(Line):
    """The client's view of one workload, all its applications together."""

    workload: int
    offered: int = Field(description="messages that fell due")
    unsent: int = Field(description="open loop: fell due and still wait at the end of the window")
    no_place: int = Field(
        description="open loop: calls of app_tx that found a message due and the whole budget in flight"
    )
    sent: int
    answered: int
    lost: int = Field(description="gave their in-flight budget back after the timeout")
    late: int = Field(description="answers that came after that")
    duplicates: int = Field(description="answers to a message that had been answered")
    in_flight: int = Field(description="at the end of the window")
    latency: Histogram = Field(description="ns from the intended send time")
    latency_sent: Histogram = Field(description="ns from the real send time")
    pacing: Histogram | None = Field(
        description="ns by which the messages sent in the window left app_tx after their intended time; null: closed loop"
    )


class RingLevel(Line):
    name: str
    size: int
    used: int


class PoolLevel(Line):
    endpoint: Side
    size: int
    free: int


class Window(Line):
    type: Literal["window"]
    index: int
    phase: Literal["hello", "warmup", "measure", "drain"] = Field(
        description="hello: until the other host was met, on two hosts only"
    )
    start_ns: int
    end_ns: int
    stages: list[StageWindow]
    steps: list[StepWindow] = Field(description="none at levels that take no cycles")
    figures: list[FigureWindow]
    workers: list[WorkerWindow]
    ports: list[PortWindow]
    workloads: list[WorkloadWindow]
    rings: list[RingLevel]
    pools: list[PoolLevel]


class MbufLedger(Line):
    """allocated = freed + held: `held` names each owner that still had some when the workers had stopped."""

    endpoint: Side
    size: int
    free: int
    held: dict[str, int]
    missing: int = Field(description="size - free - held; anything but 0 makes the run invalid")


class PacketLedger(Line):
    """Packets of one direction where both ends are ours: sent + duplicated = received + dropped by name + in the wire."""

    source: Side
    sent: int
    duplicated: int
    received: int
    dropped: dict[str, int]
    in_wire: int
    missing: int


class MessageLedger(Line):
    """sent = answered + lost + in flight, over the whole flight, warm-up included."""

    workload: int
    offered: int
    unsent: int
    sent: int
    answered: int
    lost: int
    late: int
    duplicates: int
    in_flight: int
    missing: int


class Traced(Line):
    """What became of a trace."""

    events: int = Field(description="in the file")
    missed: int = Field(description="events that are not: no room on their way, beyond the limit, or after a fault")
    fault: str | None = Field(description="why the file ends early, in the system's words")


class Pacing(Line):
    """How a capture was played at its own times, over the whole flight: every frame that fell due enters, however late."""

    start_ns: int = Field(description="when the first frame fell due")
    round_ns: int = Field(description="from one playing of the capture to the next: its length and one mean gap")
    late: Histogram = Field(description="ns from a frame's own time to its entry; its total is the frames")


class Result(Line):
    type: Literal["result"]
    at_ns: int
    reason: Literal["duration", "messages", "stopped", "parent lost", "peer lost", "peer stopped"]
    measured_ns: int
    clock_error_ppm: float = Field(
        description="how much faster the TSC's nanoseconds ran than CLOCK_MONOTONIC_RAW, over the flight, in parts a million"
    )
    mbufs: list[MbufLedger]
    packets: list[PacketLedger]
    messages: list[MessageLedger]
    figures: list[FigureWindow] = Field(description="over the whole flight; levels at its end")
    xstats: dict[Side, dict[str, int]] | None = Field(
        description="what each NIC has counted since its start, by its driver's names, zeros left out; null: no NIC"
    )
    pacing: Pacing | None = Field(description="null where no capture is played at its own times")
    worker_allocations: int | None = Field(
        description="heap allocations on worker threads after start; null: not watched"
    )
    recorded: int | None = Field(description="frames in the pcap; null where nothing is recorded")
    record_missed: int | None = Field(description="frames that the recorder could not take")
    trace: Traced | None
    peak_rss_bytes: int
    hugepage_bytes: int


class Error(Line):
    """A refusal in words, before or instead of a flight."""

    type: Literal["error"]
    message: str
    remedy: str | None


AnyLine = Annotated[Hello | Phase | Ready | Met | Window | Result | Error, Field(discriminator="type")]
LINE = TypeAdapter(AnyLine)
