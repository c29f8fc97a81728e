"""The plan: what `windtunnel.scenario` hands to the engine, one JSON document a process.

A plan holds no defaults and no quantities with units: every decision has been made, every number is in the
unit that its name ends in. The engine refuses unknown and missing keys, so that both sides change together.

History of the plan's version:
1  first flight
2  second flight: every wire, loads in phases, links, two hosts, traces, frames without a UDP checksum
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

PLAN_VERSION = 2

STAGES = ("app_tx", "disp_tx", "nic_tx", "nic_rx", "disp_rx", "app_rx")

Stage = Literal["app_tx", "disp_tx", "nic_tx", "nic_rx", "disp_rx", "app_rx"]
Side = Literal["client", "server"]
Mac = Annotated[str, Field(pattern=r"^([0-9a-f]{2}:){5}[0-9a-f]{2}$")]
Count = Annotated[int, Field(ge=0)]
Index = Annotated[int, Field(ge=0, description="position in the list that the key names")]

MAX_BATCH = 1024
MAX_MESSAGE_BYTES = 4 << 20


class Part(BaseModel):
    """A part of the plan: strict, every key required."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Eal(Part):
    args: list[str] = Field(description="arguments of rte_eal_init, without the program's name")
    memory: Literal["hugepages", "no-huge"]
    file_prefix: str


class Accounting(Part):
    level: Literal["off", "counts", "sampled", "cycles", "histograms"]
    sample_every: Annotated[int, Field(ge=1, description="at `sampled`: cycles are taken on every Nth loop; a prime")]
    interrupted_above_ns: Annotated[
        int, Field(ge=1, description="a timed call longer than this is booked as interrupted")
    ]


class Phases(Part):
    warmup_ns: Count
    duration_ns: Annotated[int, Field(ge=1)]
    window_ns: Annotated[int, Field(ge=1)]
    messages: Count | None = Field(
        description="end the measurement after so many answered messages; null: by time alone"
    )
    drain_ns: Count = Field(description="longest wait for answers in flight once the client has stopped sending")


class Pool(Part):
    """One mbuf pool of an endpoint."""

    size: Annotated[int, Field(ge=1, description="mbufs")]
    cache: Count = Field(description="mbufs kept per lcore")
    ops: Literal["ring_mp_mc", "ring_sp_sc", "ring_mt_rts", "ring_mt_hts", "stack", "lf_stack", "bucket"]
    data_room_bytes: Annotated[int, Field(ge=128, description="room of an mbuf, headroom included")]


class Faults(Part):
    """Emulated misbehaviour of the wire, applied in nic_tx to what this endpoint sends."""

    loss: Annotated[float, Field(ge=0, le=1)]
    duplicate: Annotated[float, Field(ge=0, le=1)]
    reorder: Annotated[float, Field(ge=0, le=1, description="probability that a packet is held back")]
    reorder_depth: Annotated[int, Field(ge=1, le=64, description="packets that overtake a held one")]


class Link(Part):
    """Emulated link, applied in nic_tx to what this endpoint sends: a queue, a line, a delay."""

    bits_per_s: Annotated[float, Field(ge=1e6, le=1e12)] | None = Field(
        description="of the line; a frame takes its bytes and 24 more; null: no rate"
    )
    delay_ns: Annotated[int, Field(ge=0, le=10_000_000_000, description="from the end of the line to the other side")]
    queue: Annotated[int, Field(ge=1, le=1 << 20, description="packets that wait for the line; another is dropped")]


Steering = Literal["auto", "flow", "rss"]
Offload = Literal["rx_checksum", "fast_free"]


class Nic(Part):
    """A NIC by its address. EAL's arguments allow it, and no other."""

    address: str = Field(description="as the kernel writes it: 0000:02:00.0")
    steering: Steering = Field(
        description="what brings UDP port udp_port + q to queue q: rte_flow rules, RSS, or rules where the driver takes them"
    )
    offloads: list[Offload] = Field(description="asked for; what the driver gives is a note")


class Port(Part):
    kind: Literal["ring", "null", "pcap", "af_packet", "memif", "pci", "af_xdp", "tap"]
    queues: Annotated[int, Field(ge=1, le=64)]
    rx_descriptors: Annotated[int, Field(ge=1)]
    tx_descriptors: Annotated[int, Field(ge=1)]
    rx_free_thresh: Count | None = Field(description="null: the driver's own")
    tx_free_thresh: Count | None
    tx_rs_thresh: Count | None
    packet_bytes: Count | None = Field(description="null wire: size of the frames it gives")
    copy_bytes: bool | None = Field(description="null wire: whether the driver copies the frame's bytes")
    replay: str | None = Field(description="pcap wire: absolute path of the capture that is played in, over and over")
    pace: Literal["speed", "capture"] | None = Field(
        description="pcap wire: frames as fast as they are taken, or each at its own time"
    )
    interface: str | None = Field(description="af_packet and af_xdp wires: kernel interface; tap wire: the one to make")
    socket: str | None = Field(description="memif wire: absolute path of the control socket")
    memif_role: Literal["server", "client"] | None
    memif_buffer_bytes: Count | None
    nic: Nic | None = Field(description="pci wire")
    udp_checksum: bool = Field(description="of what it sends; false: 0, none (RFC 768)")
    faults: Faults | None
    link: Link | None


class Batch(Part):
    """The most packets that one call of a stage takes."""

    app_tx: Annotated[int, Field(ge=1, le=MAX_BATCH)]
    disp_tx: Annotated[int, Field(ge=1, le=MAX_BATCH)]
    nic_tx: Annotated[int, Field(ge=1, le=MAX_BATCH)]
    nic_rx: Annotated[int, Field(ge=1, le=MAX_BATCH)]
    disp_rx: Annotated[int, Field(ge=1, le=MAX_BATCH)]
    app_rx: Annotated[int, Field(ge=1, le=MAX_BATCH)]


class Application(Part):
    workload: Index
    dispatchers: list[Index] = Field(min_length=1, description="dispatchers it shares rings with")
    inflight: Count = Field(description="client: messages it may have in flight; server: 0")


class Dispatcher(Part):
    workload: Index
    queue: Index = Field(description="queue of the port")


class Endpoint(Part):
    side: Side
    ip: str
    mac: Mac
    peer_ip: str | None = Field(description="client: where requests go; null on a server")
    peer_mac: Mac | None = Field(description="null on a client: ask by ARP")
    udp_port: Annotated[int, Field(ge=1, le=65535, description="of queue 0; queue q listens on udp_port + q")]
    peer_udp_port: Annotated[int, Field(ge=1, le=65535)] | None
    mtu: Annotated[int, Field(ge=68, le=9000)]
    pool: Pool
    port: Port
    batch: Batch
    ring_size: Annotated[
        int, Field(ge=2, description="entries of each hand-over ring, a power of two; one stays empty")
    ]
    answer_in: Literal["request", "new"] = Field(description="server: the mbuf that carries the answer")
    applications: list[Application]
    dispatchers: list[Dispatcher]


class Handler(Part):
    name: str = Field(description="a built-in's name, or the absolute path of a shared object")
    options: dict[str, str] = Field(description="plain numbers and words; the handler knows their meaning")


class LoadPhase(Part):
    """A time in which the offered rate is the same."""

    length_ns: Annotated[int, Field(ge=1)] | None = Field(description="null: for ever; only the last one")
    rate_per_s: Annotated[float, Field(ge=0)] = Field(description="messages a second while it sends")
    arrivals: Literal["constant", "poisson"]
    on_ns: Annotated[int, Field(ge=1)] | None = Field(description="sends for so long, then pauses; null: never pauses")
    off_ns: Annotated[int, Field(ge=1)] | None


class Load(Part):
    """What the client offers for one workload, all applications together."""

    mode: Literal["closed", "open"]
    phases: list[LoadPhase] = Field(description="open: at least one; closed: none")
    lead: Count = Field(description="so many of them fly once; after the last one, those behind them fly again")


class Sizes(Part):
    """Sizes that differ from message to message. Each application draws its own from the run's seed."""

    kind: Literal["sequence", "uniform", "weighted"]
    bytes: list[Annotated[int, Field(ge=16, le=MAX_MESSAGE_BYTES)]] = Field(
        min_length=1, description="sequence: taken in turn; uniform: the least and the most; weighted: drawn"
    )
    weights: list[Annotated[float, Field(ge=0)]] = Field(description="weighted: one for each size")


class Workload(Part):
    name: str
    request_bytes: Annotated[
        int, Field(ge=16, le=MAX_MESSAGE_BYTES, description="UDP payload, message header included; of the largest")
    ]
    response_bytes: Annotated[int, Field(ge=16, le=MAX_MESSAGE_BYTES)]
    request_sizes: Sizes | None = Field(description="null: all have request_bytes")
    response_sizes: Sizes | None
    handler: Handler | None = Field(description="message handler, in app_rx")
    packet_handler: Handler | None = Field(description="packet handler, in disp_rx")
    scan: bool = Field(description="whether the message handler reads every byte of the request")
    extra_ticks: Count = Field(description="TSC ticks of additional work a message")
    timeout_ns: Annotated[int, Field(ge=1, description="an unanswered message is lost after this")]
    load: Load | None = Field(description="null where no client flies")
    client_applications: Count = Field(
        description="applications of the client's endpoint, of all workloads: a server expects their numbers; 0: no client of ours"
    )
    client_slots: Count = Field(
        description="most messages that one application of this workload has in flight on the client"
    )


class StageOf(Part):
    """One stage of one application or dispatcher of one endpoint."""

    endpoint: Index
    stage: Stage
    index: Index = Field(description="of the application (app_*) or the dispatcher (disp_*, nic_*)")


class Worker(Part):
    lcore: Annotated[int, Field(ge=1)]
    cpu: Index
    stages: list[StageOf] = Field(min_length=1, description="in the order in which a loop runs them")


class Trace(Part):
    """Which loops of every worker are written down call by call; windtunnel.runs.trace reads the file."""

    path: str = Field(description="absolute path of the file of events, new")
    every: Annotated[int, Field(ge=1, lt=1 << 32, description="every Nth loop")]
    limit_events: Annotated[int, Field(ge=1, description="what comes after them is counted and not written")]


class RawLatency(Part):
    """Test mode: the latencies as they were measured, written as little-endian u64 nanoseconds."""

    path: str
    limit: Annotated[int, Field(ge=1)]


class Plan(Part):
    version: Literal[2]
    hash: str = Field(description="sha256 of the resolved scenario: both sides of a run agree on it")
    title: str
    seed: Count
    eal: Eal
    accounting: Accounting
    phases: Phases
    hello_wait_ns: Annotated[int, Field(ge=1)] | None = Field(
        description="longest wait for the hello of the other side, which another process flies; null: it is ours, or a stranger"
    )
    endpoints: list[Endpoint] = Field(min_length=1, max_length=2)
    workloads: list[Workload] = Field(min_length=1)
    workers: list[Worker] = Field(min_length=1)
    record: str | None = Field(
        description="absolute path of a pcap of every frame that the endpoints send or (server) receive"
    )
    trace: Trace | None
    raw_latency: RawLatency | None
