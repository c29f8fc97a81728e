"""The plan: what `windtunnel.scenario` hands to the engine, one JSON document a process.

A plan holds no quantities with units: every decision has been made, every number is in the unit that its name ends in. Only keys that
earlier records lack have defaults, for reading these. The engine refuses unknown and missing keys. Its structs and readers are generated
from these models when it is built (through `schemas/plan.json`, by engine/plan/generate.py), so that a key, its type and its range stand
here and nowhere else;
engine/plan/check.cc holds what keys mean for one another.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue

from windtunnel.engine.part_fields import with_fields_of_parts
from windtunnel.engine.plan_values import (
    CONSTANTS,
    MAX_APPLICATIONS,
    MAX_DELAY_NS,
    MAX_INFLIGHT,
    MAX_PROBE_ROUNDS,
    MAX_VARIANTS,
    MAX_WORKLOADS,
    U32,
    U64,
    Arrivals,
    Batched,
    Count,
    Cpu,
    Descriptors,
    ExtraTicks,
    Index,
    Inflight,
    Ip,
    Length,
    Level,
    LinkDelay,
    LinkQueue,
    LinkRate,
    Mac,
    Memory,
    MessageBytes,
    Messages,
    Mtu,
    Part,
    PoolCache,
    PoolOps,
    PoolSize,
    Probability,
    Queue,
    Queues,
    Real,
    ReorderDepth,
    ResponseMbuf,
    RingSize,
    SampleEvery,
    Side,
    Stage,
    Text,
    Threshold,
    Time,
    Trait,
    UdpPort,
    VlanId,
    VlanPriority,
    cpp,
    struct,
)
from windtunnel.part_registry import part_modules

PLAN_VERSION: Literal[3] = 3


class Eal(Part):
    args: list[Text] = Field(description="arguments of rte_eal_init, without the program's name")
    memory: Annotated[Memory, cpp("memory_mode")]
    file_prefix: Text


class Accounting(Part):
    level: Annotated[Level, cpp("accounting")]
    sample_every: SampleEvery = Field(description="at `sampled`: cycles are taken on every Nth loop; a prime")
    interrupted_above_ns: Length = Field(description="a timed call longer than this is booked as interrupted")


class Phases(Part):
    warmup_ns: Time
    duration_ns: Length
    window_ns: Length
    messages: Messages | None = Field(description="end the measurement after so many responses; null: by time alone")
    drain_ns: Time = Field(description="longest wait for responses in flight once the client has stopped sending")
    hold_windows: bool = Field(
        False,
        description="after each window the workers are held until the supervisor has read it, and the run's time stands still",
    )


class Pool(Part):
    """One mbuf pool of an endpoint."""

    size: PoolSize = Field(description="mbufs")
    cache: PoolCache = Field(description="mbufs kept for each lcore")
    ops: PoolOps
    data_room_bytes: Annotated[int, Field(ge=128, le=65535)] = Field(
        description="room of an mbuf, headroom included; rte_mbuf counts it in two bytes"
    )


class Faults(Part):
    """Emulated misbehaviour of the wire, applied in nic_tx to what this endpoint sends."""

    model_config = struct("fault_plan")

    loss: Probability
    duplicate: Probability
    reorder: Probability = Field(description="probability that a packet is held back")
    reorder_depth: ReorderDepth = Field(description="packets that overtake a held one")


class Link(Part):
    """Emulated link, applied in nic_tx to what this endpoint sends: a queue, a line, a delay."""

    bits_per_s: LinkRate | None = Field(description="of the line; a frame takes its bytes and 24 more; null: no rate")
    delay_ns: LinkDelay = Field(description="propagation delay")
    queue: LinkQueue = Field(description="packets that wait for the line; another is dropped")


class Port(Part):
    wire: Text = Field(description="its name; `windtunnel wires` lists them")
    traits: list[Annotated[Trait, cpp("trait")]] = Field(
        description="of the wire, so that a reader of the run knows what it ran on"
    )
    options: dict[str, Text] = Field(description="of the wire and of this end of it; the wire knows their meaning")
    queues: Queues
    rx_descriptors: Descriptors
    tx_descriptors: Descriptors
    rx_free_thresh: Threshold | None = Field(description="null: the driver's own")
    tx_free_thresh: Threshold | None
    tx_rs_thresh: Threshold | None
    udp_checksum: bool = Field(description="of what it sends; false: 0, none (RFC 768)")
    chains: bool = Field(description="packets that it sends may be chains of mbufs")
    faults: Faults | None
    link: Link | None


class Batch(Part):
    """The most packets that one call of a stage takes."""

    app_tx: Batched
    disp_tx: Batched
    nic_tx: Batched
    nic_rx: Batched
    disp_rx: Batched
    app_rx: Batched


class Application(Part):
    workload: Index
    dispatchers: list[Index] = Field(min_length=1, description="dispatchers it shares rings with")
    inflight: Annotated[int, Field(ge=0, le=MAX_INFLIGHT)] = Field(
        description="client: messages it may have in flight; server: 0"
    )


class Dispatcher(Part):
    workload: Index
    queue: Queue = Field(description="queue of the port")
    peers: list[Queue] = Field(
        default_factory=list, description="client: the server's queues that its messages go to, in turn; server: none"
    )


class Vlan(Part):
    """The VLAN of an endpoint (IEEE 802.1Q): what it sends has this tag, and nothing else is received."""

    id: VlanId
    priority: VlanPriority = Field(description="of what it sends (IEEE 802.1p); any is received")


class Endpoint(Part):
    side: Annotated[Side, cpp("side")]
    ip: Ip
    mac: Mac | None = Field(description="null: the port's own")
    peer_ip: Ip | None = Field(
        description="client: where requests go; server: where the client is, on a wire without frames; else null"
    )
    peer_mac: Mac | None = Field(description="null on a client: ask by ARP")
    udp_port: UdpPort = Field(description="of queue 0; queue q listens on udp_port + q")
    peer_udp_port: UdpPort | None
    mtu: Mtu
    vlan: Vlan | None = Field(None, description="null: frames without a tag")
    pool: Pool
    port: Port
    batch: Batch
    ring_size: RingSize = Field(description="entries of each hand-over ring, a power of two; one stays empty")
    response_mbuf: Annotated[ResponseMbuf, cpp("response_mbuf")] = Field(
        description="server: the mbuf that carries the response"
    )
    applications: list[Application] = Field(max_length=MAX_APPLICATIONS)
    dispatchers: list[Dispatcher]


class Handler(Part):
    name: Text = Field(description="a built-in's name, or the absolute path of a shared object")
    options: dict[str, Text] = Field(description="plain numbers and words; the handler knows their meaning")


class LoadPhase(Part):
    """A time in which the offered rate is the same."""

    length_ns: Length | None = Field(description="null: for ever; only the last one")
    rate_per_s: Real = Field(description="messages per second while it sends")
    arrivals: Annotated[Arrivals, cpp("arrivals")]
    on_ns: Length | None = Field(description="sends for so long, then pauses; null: never pauses")
    off_ns: Length | None


class Load(Part):
    """What the client offers for one workload, all applications together."""

    mode: Literal["closed", "open"]
    phases: list[LoadPhase] = Field(description="open: at least one; closed: none")
    lead: Count = Field(description="so many of them run once; after the last one, those behind them run again")


class Sizes(Part):
    """Sizes that differ from message to message. Each application draws its own from the run's seed."""

    kind: Annotated[Literal["sequence", "uniform", "weighted"], cpp("size_kind")]
    bytes: list[MessageBytes] = Field(
        min_length=1, description="sequence: taken in turn; uniform: the least and the most; weighted: drawn"
    )
    weights: list[Real] = Field(description="weighted: one for each size")


@with_fields_of_parts("plan")
class Workload(Part):
    name: Text
    request_bytes: MessageBytes = Field(description="UDP payload, message header included; of the largest")
    response_bytes: MessageBytes
    request_sizes: Sizes | None = Field(description="null: all have request_bytes")
    response_sizes: Sizes | None
    handler: Handler | None = Field(description="message handler, in app_rx")
    packet_handler: Handler | None = Field(description="packet handler, in disp_rx")
    scan: bool = Field(description="whether the message handler reads every byte of the request")
    extra_ticks: ExtraTicks = Field(description="TSC ticks of additional work per message")
    timeout_ns: Length = Field(description="a message without a response is lost after this")
    load: Load | None = Field(description="null if no client runs")
    client_applications: Annotated[int, Field(ge=0, le=MAX_APPLICATIONS)] = Field(
        description="applications of the client's endpoint, of all workloads: a server expects their numbers; 0: the client is another program"
    )
    client_slots: Count = Field(
        description="most messages that one application of this workload has in flight on the client"
    )


class StageOf(Part):
    """One stage of one application or dispatcher of one endpoint."""

    model_config = struct("stage_of", core=True)

    endpoint: Index
    stage: Annotated[Stage, cpp("stage_kind")]
    index: Index = Field(description="of the application (app_*) or the dispatcher (disp_*, nic_*)")


class Worker(Part):
    lcore: Annotated[int, Field(ge=1, le=U32)]
    cpu: Cpu
    stages: list[StageOf] = Field(min_length=1, description="in the order in which a loop runs them")


class ProbedPair(Part):
    """Two workers that exchange packets: a probe of the host sends cache lines between them."""

    a: Index = Field(description="position of a worker")
    b: Index
    round: Annotated[int, Field(ge=0, le=MAX_PROBE_ROUNDS - 1)] = Field(
        description="pairs of a round have no worker in common and send at the same time; rounds ascend"
    )


class Trace(Part):
    """Which loops of every worker are written down call by call; windtunnel.runs.trace reads the file."""

    path: Text = Field(description="absolute path of the file of events, new")
    every: Annotated[int, Field(ge=1, le=U32)] = Field(description="every Nth loop")
    limit_events: Annotated[int, Field(ge=1, le=U64)] = Field(
        description="what comes after them is counted and not written"
    )


class RawLatency(Part):
    """Test mode: the latencies as they were measured, written as little-endian u64 nanoseconds."""

    path: Text
    limit: Annotated[int, Field(ge=1, le=1 << 28)] = Field(description="values; the most are 2 GiB")


class Delay(Part):
    """Additional time of one stage, in all its instances: its worker waits after each call that moved objects."""

    endpoint: Annotated[Side, cpp("side")]
    stage: Annotated[Stage, cpp("stage_kind")]
    ns: Annotated[float, Field(ge=0, le=MAX_DELAY_NS)] = Field(description="an object")


class Variant(Part):
    """What windows of one variant have that the plan does not say. Nothing: they run as the plan says."""

    name: Text
    delays: list[Delay]
    batch: dict[Annotated[Side, cpp("side")], dict[Annotated[Stage, cpp("stage_kind")], Batched]] = Field(
        description="only the batches that differ"
    )
    inflight: Inflight | None = Field(
        description="in-flight limit of all client applications together: each has its part as in the plan, rounded down, and at least 1; null: the plan's"
    )


class Variants(Part):
    """One run, changed between its measured windows. Rings, pools, cores and queues are the same in all of them; buffers have room
    for the largest value of any variant."""

    settle_ns: Time = Field(description="from a change to the next measured window, in a window of its own")
    variants: list[Variant] = Field(min_length=1, max_length=MAX_VARIANTS, description="the first one changes nothing")
    order: list[Index] = Field(
        min_length=1, description="variant of each measured window; after the last one the order begins again"
    )


def _constants_of_parts() -> dict[str, JsonValue]:
    """Numbers of parts that C and C++ get by name."""
    return {name: value for part in part_modules("plan") for name, value in getattr(part, "CONSTANTS", {}).items()}


class Plan(Part):
    model_config = ConfigDict(json_schema_extra={"x-constants": CONSTANTS | _constants_of_parts()})

    version: Literal[3]
    hash: Text = Field(description="sha256 of the resolved scenario: both sides of a run agree on it")
    title: Text
    seed: Annotated[int, Field(ge=0, le=U64)]
    eal: Eal
    accounting: Accounting
    phases: Phases
    hello_wait_ns: Length | None = Field(
        description="longest wait for the hello of the other side, which another process runs; null: this engine runs both sides, or the peer sends no hello"
    )
    endpoints: list[Endpoint] = Field(min_length=1, max_length=2)
    workloads: list[Workload] = Field(min_length=1, max_length=MAX_WORKLOADS)
    workers: list[Worker] = Field(min_length=1)
    probe_pairs: list[ProbedPair] = Field([], description="in the order of their rounds")
    record: Text | None = Field(
        description="absolute path of a pcap of every frame that the endpoints send; one without its peer in the engine writes what it receives "
        "beside it, into NAME-received.pcap"
    )
    trace: Trace | None
    raw_latency: RawLatency | None
    variants: Variants | None = Field(None, description="null: all windows run as the plan says")

    def settling_ns(self, measured_ns: int) -> int:
        """The most that windows of this length together settle, beside what they measure."""
        return self.variants.settle_ns * -(-measured_ns // self.phases.window_ns) if self.variants else 0
