"""Every key of a scenario: its type, default, range and one-line help.

`docs/scenario.md` and `schemas/scenario.json` are generated from these models. What one key means for another is checked
in `checks`; what the host must offer, in `placement`, `demand`, `memory` and `needs`.
"""

from typing import Annotated, Literal

from pydantic import Field, PrivateAttr

from windtunnel.engine.plan import Offload, Steering
from windtunnel.scenario.quantities import BitRate, Duration, Rate, Size
from windtunnel.scenario.refusal import Source
from windtunnel.scenario.table import Table
from windtunnel.scenario.table_keys import MatchTable
from windtunnel.scenario.traffic_keys import LoadPhase, Sizes
from windtunnel.scenario.validity_keys import Validity
from windtunnel.scenario.values import (
    Batched,
    Cores,
    Descriptors,
    Ip,
    Mac,
    Message,
    NicProfile,
    Options,
    PciAddress,
    PeerMac,
    PoolSize,
    Port,
    Probability,
    StageName,
    Text,
    Threshold,
)


class Accounting(Table):
    """What the engine measures around each stage."""

    level: Literal["off", "counts", "sampled", "cycles", "histograms"] = Field(
        "sampled", description="off; counts; cycles on every Nth loop; cycles on every call; with histograms of batches"
    )
    sample_every: Annotated[int, Field(ge=1, le=65521)] = Field(
        31, description="N of `sampled`; a prime, so that no pattern of the loop hides from it"
    )
    interrupted_above: Duration("100ns", "1s") = Field(
        "50us",
        description="a call that lasts longer is booked as interrupted; put it above the longest batch of your handler",
    )


class Faults(Table):
    """Emulated misbehaviour, planted in what both sides send, from the seed (wires ring and memif)."""

    loss: Probability = Field(0, description="probability that a packet is lost")
    duplicate: Probability = Field(0, description="probability that a packet is sent twice")
    reorder: Probability = Field(0, description="probability that a packet is held back")
    reorder_depth: Annotated[int, Field(ge=1, le=64)] = Field(4, description="packets that overtake a held one")


class Link(Table):
    """An emulated link in each direction (wires ring and memif): a queue with tail drop, a line, a delay."""

    rate: BitRate | None = Field(
        None, description="of the line, a frame's preamble, FCS and gap included (24 bytes); without: no limit"
    )
    delay: Duration("0s", "10s") = Field("0s", description="from the end of the line to the other side")
    queue: Annotated[int, Field(ge=1, le=1 << 20)] = Field(
        1024, description="packets that wait for the line; one more is dropped"
    )


class Wire(Table):
    """What connects the endpoints, or stands where the peer would be."""

    kind: Literal["ring", "null", "pcap", "af_packet", "memif", "pci", "af_xdp", "tap"] = Field(
        "ring",
        description="both sides in one process; frames from nowhere; a replayed capture; a kernel interface by a packet "
        "socket; two processes; a NIC; a kernel interface by XDP; an interface of the engine's own",
    )
    packet: Size("60B", "9014B") | None = Field(None, description="null: size of the frames it gives, without FCS (64)")
    copy_bytes: bool | None = Field(
        None, alias="copy", description="null: copy every frame's bytes, as a NIC's DMA would (true)"
    )
    replay: Text | None = Field(
        None, description="pcap: capture that is played in over and over, relative to this file"
    )
    pace: Literal["speed", "capture"] | None = Field(
        None, description="pcap: as fast as the server takes them (speed), or each frame at its own time"
    )
    udp_checksum: bool = Field(
        True, description="whole UDP checksums in what both sides send; false: 0, none (RFC 768), as testpmd's flowgen"
    )
    socket: Text | None = Field(None, description="memif: control socket, relative to this file (one of its own a run)")
    faults: Faults | None = Field(None, description="emulated misbehaviour")
    link: Link | None = Field(None, description="emulated link")


class Batch(Table):
    """The most packets that one call of a stage takes."""

    app_tx: Batched = Field(32, description="messages made by a call")
    disp_tx: Batched = Field(32, description="packets taken from the applications' rings")
    nic_tx: Batched = Field(32, description="packets posted to the port")
    nic_rx: Batched = Field(32, description="packets polled from the port")
    disp_rx: Batched = Field(32, description="packets parsed and handed on")
    app_rx: Batched = Field(32, description="packets taken from the dispatchers' rings")


class Mempool(Table):
    """The endpoint's pool of packet buffers (mbufs)."""

    size: PoolSize = Field("auto", description="mbufs; auto: what the traffic can hold, rounded up to 2^n - 1")
    cache: Annotated[int, Field(ge=0, le=512)] = Field(
        256, description="mbufs kept for each worker, at most size / 1.5"
    )
    ops: Literal["ring_mp_mc", "ring_sp_sc", "ring_mt_rts", "ring_mt_hts", "stack", "lf_stack", "bucket"] = Field(
        "ring_mp_mc", description="how free mbufs are kept; ring_sp_sc only where one worker touches the pool"
    )


class Thresholds(Table):
    """Descriptor thresholds of the port; without a value the driver's own."""

    rx_free: Threshold | None = Field(None, description="receive descriptors freed at once")
    tx_free: Threshold | None = Field(None, description="free transmit descriptors below which sent mbufs are freed")
    tx_rs: Threshold | None = Field(None, description="transmit descriptors between two status reports")


class Worker(Table):
    """One worker, placed by hand."""

    core: Annotated[int, Field(ge=0, le=4095)] = Field(description="CPU")
    stages: list[StageName] = Field(min_length=1, description='stages in the order of the loop, as in "nic_rx:0"')


class Endpoint(Table):
    cores: Cores = Field(
        "auto", description="CPUs of its workers, one worker a CPU; auto: apart from the other side's if possible"
    )
    port: Port = Field(9000, description="UDP port of queue 0; queue q has port + q")
    mtu: Annotated[int, Field(ge=68, le=9000)] = Field(
        1500, description="bytes of an IP packet; the same on both sides"
    )
    interface: Text | None = Field(
        None, min_length=1, max_length=15, description="af_packet, af_xdp: kernel interface; tap: the one to make"
    )
    pci: PciAddress | None = Field(None, description="pci: the NIC's address, as in 0000:02:00.0")
    steering: Steering | None = Field(
        None,
        description="pci: what brings a UDP port to its queue; auto, the default: rte_flow where it works, else rss",
    )
    offloads: list[Offload] | None = Field(None, description="pci: asked of the NIC; without: all that are listed")
    batch: Batch = Field(default_factory=Batch, description="burst sizes of the stages")
    mempool: Mempool = Field(default_factory=Mempool, description="packet buffers")
    ring_size: Annotated[int, Field(ge=2, le=1 << 20)] = Field(
        1024,
        description="entries of each ring between an application and a dispatcher, a power of two; one stays empty",
    )
    rx_descriptors: Descriptors = Field(1024, description="of each queue, a power of two")
    tx_descriptors: Descriptors = Field(1024, description="of each queue, a power of two")
    thresholds: Thresholds = Field(default_factory=Thresholds, description="of the port's descriptors")
    nic_profile: NicProfile | None = Field(
        None,
        description="NIC for which PCIe traffic is estimated (docs/pcie.md); null: on pci the one of the driver, else generic",
    )
    worker: list[Worker] = Field(
        default_factory=list, max_length=127, description="workers by hand, instead of `cores`"
    )


class Client(Endpoint):
    """The side that sends requests and matches answers."""

    ip: Ip = Field("10.77.0.1", description="IPv4 address")
    mac: Mac = Field("02:77:74:00:00:01", description="MAC address")
    inflight: Annotated[int, Field(ge=1, le=1 << 20)] = Field(
        1024, description="messages in flight at most, shared out among the workloads and their applications"
    )
    rate: Rate | None = Field(
        None, description="open loop: messages a second, shared out likewise; without: closed loop"
    )
    arrivals: Literal["constant", "poisson"] = Field("constant", description="open loop: spacing of the messages")
    peer_ip: Ip | None = Field(None, description="where requests go; without: the server's address")
    peer_port: Port | None = Field(None, description="UDP port of the peer's queue 0; without: the server's")
    peer_mac: PeerMac = Field(
        "auto", description="the peer's MAC, \"resolve\" to ask by ARP; auto: the server's where it is ours"
    )


class Server(Endpoint):
    """The side that answers."""

    ip: Ip = Field("10.77.0.2", description="IPv4 address")
    mac: Mac = Field("02:77:74:00:00:02", description="MAC address")
    answer: Literal["request", "new"] = Field(
        "request", description="the mbuf that carries the answer: the request's, or a new one"
    )


class ClientPart(Table):
    """What the client does otherwise than the server in a workload."""

    apps: Annotated[int, Field(ge=1, le=64)] | None = Field(None, description="applications of the client")
    colocate: bool | None = Field(None, description="whether the client's applications sit with their dispatchers")


class Workload(Table):
    """One kind of traffic, and what answers it."""

    name: str | None = Field(
        None, pattern=r"^[A-Za-z0-9_.-]{1,64}$", description="name in tables; without: the handler's"
    )
    handler: Text | None = Field(
        None, min_length=1, description="message handler: a built-in, or a shared object relative to this file"
    )
    packet_handler: Text | None = Field(None, min_length=1, description="packet handler: likewise")
    options: Options = Field(
        default_factory=dict, description="of the message handler, or of the packet handler where there is no other"
    )
    packet_options: Options = Field(default_factory=dict, description="of the packet handler beside a message handler")
    table: list[MatchTable] = Field(
        default_factory=list, max_length=8, description="tables of the packet handler match_action, in their order"
    )
    request: Message = Field(
        "86B", description="UDP payload of a request, its 16-byte header included; 86 fills a 128-byte mbuf"
    )
    response: Message | None = Field(
        None, description="likewise of the answer; without: 86, or the request's behind a packet handler"
    )
    request_sizes: Sizes | None = Field(None, description="sizes of the requests, instead of `request`")
    response_sizes: Sizes | None = Field(None, description="sizes of the answers, instead of `response`")
    apps: Annotated[int, Field(ge=1, le=64)] = Field(1, description="applications")
    dispatchers: Annotated[int, Field(ge=1, le=64)] = Field(1, description="dispatchers on each side; one is one queue")
    colocate: bool = Field(True, description="an application and its dispatcher on one worker; false: on two")
    client: ClientPart = Field(default_factory=ClientPart, description="what differs on the client")
    share: Annotated[float, Field(gt=0, le=1e6)] = Field(
        1, description="weight in the sharing out of the client's budget and rate"
    )
    inflight: Annotated[int, Field(ge=1, le=1 << 20)] | None = Field(None, description="in-flight budget of its own")
    rate: Rate | None = Field(None, description="rate of its own: open loop")
    on: Duration("1us", "1h") | None = Field(None, description="open loop in bursts: sends at the rate for so long")
    off: Duration("1us", "1h") | None = Field(None, description="open loop in bursts: then pauses for so long")
    phase: list[LoadPhase] = Field(
        default_factory=list, max_length=1000, description="a load that changes while it is measured, instead of `rate`"
    )
    scan: bool = Field(True, description="the message handler reads every byte of the request")
    extra_ticks: Annotated[int, Field(ge=0, le=10**9)] = Field(0, description="TSC ticks of further work a message")
    timeout: Duration("1us", "1h") = Field("1s", description="an unanswered message is lost after this")


class Scenario(Table):
    """What is emulated, on which ports and cores, under which traffic, for how long."""

    title: Text = Field("", max_length=200, description="name of the runs; without: the file's")
    duration: Duration("1ms", "24h") = Field("5s", description="what is measured")
    warmup: Duration("0s", "1h") = Field("1s", description="what flies before that")
    window: Duration("1ms", "1h") = Field("500ms", description="one reporting interval, at most the duration")
    messages: Annotated[int, Field(ge=1, le=1 << 62)] | None = Field(
        None, description="end the measurement after so many answers, if the duration has not ended it"
    )
    drain: Duration("0s", "1h") = Field(
        "1s", description="longest wait for answers once the client has stopped sending"
    )
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = Field(1, description="of everything that is random")
    memory: Literal["auto", "hugepages", "no-huge"] = Field("auto", description="auto: hugepages where enough are free")
    record: Text | None = Field(None, description="pcap of every frame sent, in the run directory")
    validity: Validity = Field(default_factory=Validity, description="what a run holds itself to")
    accounting: Accounting = Field(default_factory=Accounting, description="what is measured around each stage")
    wire: Wire = Field(default_factory=Wire, description="what connects the endpoints")
    client: Client | None = Field(None, description="the side that asks; always there on ring and memif")
    server: Server | None = Field(None, description="the side that answers; always there on ring and memif")
    workload: list[Workload] = Field(min_length=1, max_length=16, description="one table a kind of traffic")

    _source: Source = PrivateAttr()
    _question: str = PrivateAttr("")

    @property
    def source(self) -> Source:
        """The file that it was read from."""
        return self._source

    @property
    def question(self) -> str:
        """The file's opening comment line."""
        return self._question
