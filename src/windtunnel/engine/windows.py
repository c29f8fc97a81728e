"""Windows of the engine's lines: what stages, handlers, workers, ports, workloads and copiers did in one reporting interval.

A value that could not be had is null, never zero.
"""

from typing import Annotated, Literal

from pydantic import Field

from windtunnel.engine.counted import Counted, Level
from windtunnel.engine.histogram import Histogram
from windtunnel.engine.line_model import Line
from windtunnel.engine.part_fields import with_fields_of_parts
from windtunnel.engine.plan_values import Side, Stage


@with_fields_of_parts("window")
class StageWindow(Line):
    """A counter of stages is named here and in engine/core/counters.h."""

    endpoint: Side
    stage: Stage
    index: int
    worker: int = Field(description="position in the plan's workers")
    calls: Annotated[int, Counted("calls")] = Field(description="calls of the stage")
    empty_calls: Annotated[int, Counted("calls")] = Field(description="calls that found nothing to do")
    objects: Annotated[int, Counted("packets")] = Field(description="packets that the stage moved")
    burst: dict[int, int] = Field(description="objects per call -> calls")
    timed_calls: Annotated[int, Counted("calls")] = Field(
        description="calls whose cycles were taken: all at `cycles`, every Nth loop at `sampled`"
    )
    timed_objects: Annotated[int, Counted("packets")] = Field(description="packets that timed calls moved")
    timed_work_calls: Annotated[int | None, Counted("calls")] = Field(
        None,
        description="timed calls that moved something: with n packets in c cycles each, the next two sums split their time into a part a "
        "call and a part a packet",
    )
    timed_objects_squared: Annotated[int | None, Counted("packets²")] = Field(
        None, description="sum of n x n of these calls"
    )
    timed_objects_cycles: Annotated[int | None, Counted("packets·cycles", openmetrics="timed_objects_by_cycles")] = (
        Field(None, description="sum of n x c of these calls")
    )
    busy_cycles: Annotated[int, Counted("cycles", openmetrics="timed_busy_seconds")] = Field(
        description="time of timed calls that moved something or stalled"
    )
    idle_cycles: Annotated[int, Counted("cycles", openmetrics="timed_idle_seconds")] = Field(
        description="time of timed calls that found nothing to do"
    )
    stall_cycles: Annotated[int, Counted("cycles", openmetrics="timed_stall_seconds")] = Field(
        description="part of busy: waiting for an mbuf, room in a ring, the port, or copies"
    )
    traffic_cycles: Annotated[int, Counted("cycles", openmetrics="timed_traffic_seconds")] = Field(
        description="time of timed calls in which a handler made its own traffic; not in busy, idle or stall"
    )
    stalled_calls: Annotated[int, Counted("calls", head="stalled calls")] = Field(
        description="calls that had work and could move nothing, timed or not"
    )
    stalled_for_mbufs: Annotated[int | None, Counted("calls")] = Field(
        None, description="stalled calls that found no mbuf"
    )
    stalled_for_ring: Annotated[int | None, Counted("calls")] = Field(
        None, description="stalled calls that found no room in a ring; of nic_rx, because disp_rx finds none"
    )
    stalled_for_port: Annotated[int | None, Counted("calls")] = Field(
        None,
        description="stalled calls that the port took nothing of; of disp_tx, because nic_tx of the same worker could send nothing before",
    )
    interrupted_calls: Annotated[int, Counted("calls")] = Field(
        description="timed calls above the threshold, in no other time"
    )
    interrupted_cycles: Annotated[int, Counted("cycles")] = Field(
        description="time of interrupted calls; not in busy, idle or stall"
    )
    delay_cycles: Annotated[int | None, Counted("cycles")] = Field(
        None,
        description="delay that a variant of the run adds to the objects of all calls, timed or not; in the time of timed ones",
    )
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
    copier: bool | None = Field(
        None, description="it is the copier's of this stage, and no step of the handler; null: an older record"
    )
    cycles: int = Field(description="of timed calls")
    packets: int = Field(description="that went through it in timed calls; of a message handler, messages")
    stamps: int = Field(description="times that the clock was read for it: each adds ready.stamp_ticks to `cycles`")


class HandlerCounterWindow(Line):
    """What a handler counts itself. A count, or a wrong, is what the window added; a level is the state at its end."""

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
    thread: int | None = Field(
        None, description="its kernel thread, as `/proc` and perf_event_open(2) know it; null: an older record"
    )
    loops: Annotated[int, Counted("loops")] = Field(description="loops of the worker")
    cycles: int = Field(description="TSC ticks that the worker's window lasted")
    timed_cycles: int = Field(description="TSC ticks of the loops that were timed")
    preempted_ns: Annotated[int | None, Counted("ns")] = Field(
        description="time in which the worker was runnable and not running: the kernel's run delay (schedstat)"
    )
    longest_pause_ns: int | None = Field(
        None,
        description="the longest part of `preempted_ns` in a row; pauses within some 10 ms count as one, so it is never too short; null: "
        "the kernel does not say, or an older record",
    )
    on_cpu_ns: Annotated[int | None, Counted("ns")] = Field(description="time on the CPU (schedstat)")
    system_ns: Annotated[int | None, Counted("ns")] = Field(
        None,
        description="part of `on_cpu_ns` in the kernel: system calls and page faults, sampled by the kernel's timer, in steps of 10 ms; null: "
        "the kernel does not say, or an older record",
    )
    minor_faults: Annotated[int | None, Counted("faults")] = Field(
        None, description="page faults of the worker whose page was in memory, or was cleared; null: as for `system_ns`"
    )
    major_faults: Annotated[int | None, Counted("faults")] = Field(
        None, description="page faults of the worker whose page was read from a disk; null: as for `system_ns`"
    )
    steal_ns: Annotated[int, Counted("ns")] = Field(
        description="steal time of the CPU: the hypervisor ran another guest, in steps of 10 ms; 0 if it does not say"
    )
    chain_ticks: float | None = Field(
        description="median TSC ticks of a fixed chain of multiplications, taken some 50 times per window: they rise when the "
        "core's clock falls; null: none was taken"
    )
    wide_ticks: float | None = Field(
        description="mean ticks of additions that fill the core: they rise when another hardware thread shares it"
    )


class PortWindow(Line):
    endpoint: Side
    rx_packets: Annotated[int, Counted("packets", openmetrics="received_packets")] = Field(
        description="packets received"
    )
    rx_bytes: Annotated[int, Counted("bytes", openmetrics="received_bytes")] = Field(
        description="bytes of received mbufs, without FCS; counted when disp_rx takes the packets"
    )
    rx_bursts: Annotated[int, Counted("calls", openmetrics="receive_bursts")] = Field(
        description="calls of rte_eth_rx_burst that gave something"
    )
    tx_packets: Annotated[int, Counted("packets", openmetrics="sent_packets")] = Field(description="packets sent")
    tx_bytes: Annotated[int, Counted("bytes", openmetrics="sent_bytes")] = Field(
        description="bytes of sent mbufs, without FCS; counted when packets are handed to nic_tx, on an emulated wire by nic_tx"
    )
    tx_bursts: Annotated[int, Counted("calls", openmetrics="send_bursts")] = Field(
        description="calls of rte_eth_tx_burst that took something"
    )
    doorbells: Annotated[int | None, Counted("writes")] = Field(
        description="tail writes that announce what is sent; null if the driver has none, or it is not known when it writes"
    )
    link_down_ns: Annotated[int | None, Counted("ns")] = Field(
        None,
        description="time in which the port's link was down, at either end up to 100 ms too long: it is looked at every 100 ms and at the "
        "end of the window. More than 0 excludes the window",
    )


class WorkloadWindow(Line):
    """The client's view of one workload, all its applications together. A counter is named here and in engine/core/counters.h."""

    workload: int
    offered: Annotated[int, Counted("messages", openmetrics="offered_messages")] = Field(
        description="messages that fell due"
    )
    unsent: Annotated[int, Level("messages", "workload_unsent_messages")] = Field(
        description="open loop: messages that fell due and still wait at the end of the window"
    )
    inflight_full: Annotated[int, Counted("calls", openmetrics="inflight_full_calls")] = Field(
        description="open loop: calls of app_tx that found a message due while the in-flight limit was reached"
    )
    sent: Annotated[int, Counted("messages", openmetrics="sent_messages")] = Field(description="messages sent")
    responses: Annotated[int, Counted("messages")] = Field(description="responses within the timeout")
    lost: Annotated[int, Counted("messages", openmetrics="lost_messages")] = Field(
        description="messages without a response within the timeout; they no longer count as in flight"
    )
    late: Annotated[int, Counted("responses", openmetrics="late_responses")] = Field(
        description="responses after the timeout"
    )
    duplicates: Annotated[int, Counted("responses", openmetrics="duplicate_responses")] = Field(
        description="responses to a message that already had one"
    )
    negative_latency: Annotated[int | None, Counted("responses", openmetrics="negative_latency_responses")] = Field(
        None,
        description="responses whose burst's stamp lies before that of their request, which another worker took; their latency is "
        "recorded as 0",
    )
    in_flight: Annotated[int, Level("messages", "workload_in_flight_messages")] = Field(
        description="messages in flight at the end of the window"
    )
    latency: Histogram = Field(description="ns from the intended send time")
    latency_sent: Histogram = Field(description="ns from the real send time")
    pacing: Histogram | None = Field(
        description="ns by which the messages sent in the window left app_tx after their intended time; null: closed loop"
    )


class RingLevel(Line):
    name: str
    size: Annotated[int, Level("entries", "ring_capacity_entries")] = Field(
        gt=0, description="entries that the ring takes"
    )
    used: Annotated[int, Level("entries", "ring_entries")] = Field(
        description="entries in use at the end of the window"
    )


class PoolLevel(Line):
    endpoint: Side
    size: Annotated[int, Level("mbufs", "pool_mbufs")] = Field(gt=0, description="mbufs of the pool")
    free: Annotated[int, Level("mbufs", "pool_free_mbufs")] = Field(description="free mbufs at the end of the window")


class ProbePair(Line):
    """Two workers that exchange packets."""

    a: int = Field(description="position in the plan's workers")
    b: int
    line_ns: float = Field(description="round trip of a cache line between their CPUs: the median of 12 blocks of 8")


class ProbeWorker(Line):
    worker: int
    alone_ticks: float = Field(description="TSC ticks of additions that fill the core, while the other workers wait")
    together_ticks: float = Field(
        description="the same while all workers do so: twice as long if two CPUs are threads of one core"
    )


@with_fields_of_parts("window")
class Probe(Line):
    """The host's state at the end of a window, measured with all workers held; the run's time stood still meanwhile."""

    complete: bool = Field(description="false: a worker did not come in time, and nothing was measured")
    held_ns: int
    pairs: list[ProbePair]
    workers: list[ProbeWorker]


@with_fields_of_parts("window")
class Window(Line):
    type: Literal["window"]
    index: int
    phase: Literal["hello", "warmup", "measure", "variant", "settle", "drain"] = Field(
        description="hello: until the peer was met, by ARP or by the hello of two hosts; variant: measured, with another variant than the first; "
        "settle: after a change of the variant, in no metric"
    )
    variant: int | None = Field(None, description="position among the variants of the plan; null: it has none")
    start_ns: int
    end_ns: int
    stages: list[StageWindow]
    steps: list[StepWindow] = Field(description="none at levels that take no cycles")
    counters: list[HandlerCounterWindow]
    workers: list[WorkerWindow]
    ports: list[PortWindow]
    workloads: list[WorkloadWindow]
    rings: list[RingLevel]
    pools: list[PoolLevel]
    probe: Probe | None = Field(
        None,
        description="null: not probed at this window's end: probes lie 50 ms apart, and workers that share a CPU have none",
    )
