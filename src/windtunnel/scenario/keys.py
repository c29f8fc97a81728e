"""Every key of a scenario: its type, default, range and one-line help.

`docs/reference/scenario.md` and `schemas/scenario.json` are generated from these models. What one key means for another is checked
in `checks`; what the host must offer, in `placement`, `demand`, `memory` and `needs`.
"""

from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field

from windtunnel.engine.part_fields import with_fields_of_parts
from windtunnel.engine.plan_values import (
    MAX_QUEUES,
    Arrivals,
    Batched,
    Cpu,
    ExtraTicks,
    Inflight,
    Level,
    LinkDelay,
    LinkQueue,
    Memory,
    Messages,
    Mtu,
    PoolCache,
    PoolOps,
    Probability,
    Queues,
    ReorderDepth,
    ResponseMbuf,
    RingSize,
    SampleEvery,
    Threshold,
    UdpPort,
    VlanId,
    VlanPriority,
)
from windtunnel.engine.query import Wire as Descriptor
from windtunnel.engine.wires import known
from windtunnel.scenario.quantities import BitRate, Duration, Rate, within
from windtunnel.scenario.table import FileTable, Table
from windtunnel.scenario.traffic_keys import LoadPhase, Sizes
from windtunnel.scenario.validity_keys import Validity
from windtunnel.scenario.values import (
    Applications,
    Ip,
    Message,
    Options,
    OwnMac,
    PeerMac,
    PoolSize,
    StageName,
    Text,
    WholeRing,
    WorkerCores,
)
from windtunnel.scenario.wire_options import OptionTable, WireName


class Accounting(Table):
    """What the engine measures around each stage."""

    level: Level = Field(
        "sampled",
        description="off: no counters of stages; counts: counters only; sampled: also cycles, on every Nth loop; cycles: on every loop; "
        "histograms: also of batches",
    )
    sample_every: SampleEvery = Field(
        31, description="N of `sampled`; a prime number, so that the sampling does not follow a pattern of the loop"
    )
    interrupted_above: Annotated[int, Duration("100ns", "1s")] | None = Field(
        None,
        description="a call that lasts longer counts as interrupted; set it above the longest batch of your handler; default: 50us, "
        "and 1us more for each KiB of the largest write or read of a stream",
    )


class Faults(Table):
    """Emulated faults of the packets that Windtunnel sends, drawn from the seed. Windtunnel must run both endpoints, or all workloads are streams."""

    loss: Probability = Field(0, description="probability that a packet is lost")
    duplicate: Probability = Field(0, description="probability that a packet is sent twice")
    reorder: Probability = Field(0, description="probability that a packet is held back")
    reorder_depth: ReorderDepth = Field(4, description="packets that overtake a held one")


class Link(Table):
    """An emulated link in each direction: a queue with tail drop, a rate, a delay. Windtunnel must run both endpoints, or all workloads are streams."""

    rate: BitRate | None = Field(
        None,
        description="rate of the line; each frame takes 24 bytes more for preamble, FCS and gap; default: no limit",
    )
    delay: Annotated[int, within("duration", LinkDelay)] = Field(
        "0s", validate_default=True, description="propagation delay"
    )
    queue: LinkQueue = Field(1024, description="packets that may wait for the line; further ones are dropped")


class Wire(OptionTable):
    """The wire between the endpoints, or in the place of the peer, with the options of its kind."""

    SCOPE = "wire"

    kind: Annotated[Text, WireName()] = Field(
        "ring",
        description='`windtunnel wires` lists the kinds with their options; the page "Wires" explains them',
    )
    udp_checksum: bool = Field(
        True, description="compute UDP checksums on both sides; false: send 0 (RFC 768), as testpmd's flowgen"
    )
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

    size: PoolSize = Field("auto", description="mbufs; auto: the demand of the traffic, rounded up to 2^n - 1")
    cache: PoolCache = Field(256, description="mbufs cached for each worker, at most size / 1.5")
    ops: PoolOps = Field(
        "ring_mp_mc",
        description="implementation of the pool (rte_mempool ops); ring_sp_sc only if one worker uses the pool",
    )


class Thresholds(Table):
    """Descriptor thresholds of the port; without a value the driver's own."""

    rx_free: Threshold | None = Field(None, description="receive descriptors freed at once")
    tx_free: Threshold | None = Field(None, description="free transmit descriptors below which sent mbufs are freed")
    tx_rs: Threshold | None = Field(None, description="transmit descriptors between two status reports")


class Worker(Table):
    """One worker, placed by hand."""

    core: Cpu = Field(description="CPU")
    stages: list[StageName] = Field(min_length=1, description='stages in the order of the loop, as in "nic_rx:0"')


@with_fields_of_parts("keys")
class Endpoint(OptionTable):
    SCOPE = "endpoint"

    cores: WorkerCores = Field(
        "auto",
        description="CPUs of its workers, one worker for each CPU; auto: a physical core for each worker if possible, near the workers of the other side; separate: the same, and an error if workers had to share a CPU",
    )
    port: UdpPort = Field(9000, description="UDP port of queue 0; queue q has port + q")
    mtu: Mtu = Field(1500, description="bytes of an IP packet; the same on both sides")
    vlan: VlanId | None = Field(
        None,
        description="VLAN of the endpoint: all frames that it sends have this VLAN tag (IEEE 802.1Q); frames without it or with another one are "
        "dropped by name; default: frames without a VLAN tag",
    )
    vlan_priority: VlanPriority = Field(
        0, description="priority in the VLAN tag of the frames that it sends (IEEE 802.1p)"
    )
    batch: Batch = Field(default_factory=Batch, description="burst sizes of the stages")
    mempool: Mempool = Field(default_factory=Mempool, description="packet buffers")
    ring_size: RingSize = Field(
        1024,
        description="entries of each ring between an application and a dispatcher; one stays unused",
    )
    rx_descriptors: WholeRing = Field(1024, description="receive descriptors of each queue")
    tx_descriptors: WholeRing = Field(1024, description="transmit descriptors of each queue")
    thresholds: Thresholds = Field(default_factory=Thresholds, description="descriptor thresholds of the port")
    worker: list[Worker] = Field(
        default_factory=list, max_length=127, description="explicit placement of stages on workers, instead of `cores`"
    )


class Client(Endpoint):
    """The side that sends requests and matches responses."""

    ip: Ip = Field("10.77.0.1", description="IP address; IPv6 if both sides have one")
    mac: OwnMac = Field("02:77:74:00:00:01", description="MAC address; nic: the NIC's own")
    inflight: Inflight = Field(1024, description="in-flight limit, divided among the workloads and their applications")
    rate: Rate | None = Field(
        None,
        description="open loop: messages per second, divided among the workloads and their applications; default: closed loop",
    )
    arrivals: Arrivals = Field("constant", description="open loop: spacing of the messages")
    peer_ip: Ip | None = Field(None, description="destination of requests; default: the server's address")
    peer_port: UdpPort | None = Field(None, description="UDP port of the peer's queue 0; default: the server's")
    peer_mac: PeerMac = Field(
        "auto",
        description="the peer's MAC; resolve: ask by ARP, or by neighbour discovery over IPv6; auto: the server's if Windtunnel runs it",
    )


class Server(Endpoint):
    """The side that sends responses."""

    ip: Ip = Field("10.77.0.2", description="IP address; IPv6 if both sides have one")
    mac: OwnMac = Field("02:77:74:00:00:02", description="MAC address; nic: the NIC's own")
    response_mbuf: ResponseMbuf = Field(
        "request", description="mbuf of the response: the mbuf of the request, or a new one"
    )


class ClientPart(Table):
    """Values of the client that differ from the server's in a workload."""

    apps: Applications | None = Field(None, description="applications of the client")
    dispatchers: Queues | None = Field(
        None,
        description="dispatchers of the client; if the server has another number, each client dispatcher sends its messages to all of the server's in turn",
    )
    colocate: bool | None = Field(None, description="client applications and their dispatchers on one worker")


@with_fields_of_parts("keys")
class Workload(Table):
    """One kind of traffic, and the handler that responds to it."""

    name: str | None = Field(
        None, pattern=r"^[A-Za-z0-9_.-]{1,64}$", description="name in tables; default: the handler's"
    )
    handler: Text | None = Field(
        None, min_length=1, description="message handler: a built-in, or a shared object relative to this file"
    )
    packet_handler: Text | None = Field(
        None, min_length=1, description="packet handler: a built-in, or a shared object relative to this file"
    )
    options: Options = Field(
        default_factory=dict, description="options of the message handler, or of the packet handler without one"
    )
    packet_options: Options = Field(
        default_factory=dict, description="options of the packet handler, with a message handler"
    )
    request: Message = Field(
        "86B",
        validate_default=True,
        description="UDP payload of a request, including its 16-byte header; 86 fills a 128-byte mbuf",
    )
    response: Message | None = Field(
        None,
        description="UDP payload of a response; default: 86, or the size of the request with a packet handler only",
    )
    request_sizes: Sizes | None = Field(None, description="sizes of the requests, instead of `request`")
    response_sizes: Sizes | None = Field(None, description="sizes of the responses, instead of `response`")
    apps: Applications = Field(1, description="applications")
    dispatchers: Queues = Field(
        1, description="dispatchers of the server, and of the client by default; each has one queue"
    )
    groups: list[Applications] | None = Field(
        None,
        min_length=1,
        max_length=MAX_QUEUES,
        description="applications of each dispatcher, as in [3, 1], in their order, on each side that has so many of both; default: as even as possible",
    )
    colocate: bool = Field(True, description="an application and its dispatcher on one worker; false: on two")
    client: ClientPart = Field(default_factory=ClientPart, description="keys with other values on the client")
    share: Annotated[float, Field(gt=0, le=1e6)] = Field(
        1, description="weight of the workload in the client's in-flight limit and rate"
    )
    inflight: Inflight | None = Field(None, description="in-flight limit of this workload")
    rate: Rate | None = Field(None, description="rate of this workload: open loop")
    on: Annotated[int, Duration("1us", "1h")] | None = Field(
        None, description="open loop in bursts: time for which the workload sends at the rate"
    )
    off: Annotated[int, Duration("1us", "1h")] | None = Field(None, description="open loop in bursts: pause after that")
    phase: list[LoadPhase] = Field(
        default_factory=list, max_length=1000, description="phases of a changing load, instead of `rate`"
    )
    scan: bool = Field(True, description="the message handler reads every byte of the request")
    extra_ticks: ExtraTicks = Field(0, description="additional work for each message, in TSC ticks")
    timeout: Annotated[int, Duration("1us", "1h")] = Field(
        "1s", validate_default=True, description="a message without a response is lost after this time"
    )


class Scenario(FileTable):
    """The scenario: endpoints, wire, cores, traffic and duration."""

    title: Text = Field("", max_length=200, description="name of the runs; default: the name of the file")
    duration: Annotated[int, Duration("1ms", "24h")] = Field(
        "5s", validate_default=True, description="length of the measurement"
    )
    warmup: Annotated[int, Duration("0s", "1h")] = Field(
        "1s", validate_default=True, description="length of the warm-up, before the measurement"
    )
    window: Annotated[int, Duration("1ms", "1h")] = Field(
        "500ms", validate_default=True, description="one reporting interval, at most the duration"
    )
    messages: Messages | None = Field(
        None, description="end the measurement after this number of responses, or after the duration if that is earlier"
    )
    drain: Annotated[int, Duration("0s", "1h")] = Field(
        "1s", validate_default=True, description="longest wait for responses after the client has stopped sending"
    )
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = Field(1, description="seed of all random numbers")
    memory: Literal["auto", Memory] = Field("auto", description="auto: hugepages if enough are free")
    record: Text | None = Field(
        None,
        description="pcap file in the run directory with every frame sent; if there is only one endpoint, frames received are in NAME-received.pcap",
    )
    validity: Validity = Field(default_factory=Validity, description="validity limits")
    accounting: Accounting = Field(default_factory=Accounting, description="measurement level around each stage")
    wire: Wire = Field(default_factory=Wire, description="what connects the endpoints")
    client: Client | None = Field(
        None, description="the side that sends requests; required if Windtunnel runs both endpoints"
    )
    server: Server | None = Field(
        None, description="the side that sends responses; required if Windtunnel runs both endpoints"
    )
    workload: list[Workload] = Field(min_length=1, max_length=16, description="one table for each kind of traffic")

    @cached_property
    def descriptor(self) -> Descriptor:
        """The descriptor of its wire, looked up once: planning a run asks for it sixty times. A scenario that was read names no other wire
        than a known one."""
        return known()[self.wire.kind]
