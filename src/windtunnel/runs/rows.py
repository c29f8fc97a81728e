"""The rows of a run's tables: plain data, made by `windtunnel.runs.metrics`, shown by tables and report.

None is "not measured" or "nothing to measure", and never zero. What another tool measured is shown by the same rows: what it
did not say is None.
"""

from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

from windtunnel.runs.registry.percentiles import Latency


@dataclass(frozen=True)
class Spread:
    """Distribution of a duration of one batch, ns: only at the accounting level `histograms`."""

    minimum: float | None
    mean: float | None
    p50: float | None
    p99: float | None
    maximum: float | None


@dataclass(frozen=True)
class StageRow:
    """One stage of one endpoint, all its instances together. Times are ns per packet; shares are of the timed calls
    of all stages of the workers that run it."""

    endpoint: str
    stage: str
    instances: int | None
    objects: int | None
    mpps: float | None
    work_ns: float | None
    stall_ns: float | None
    mean_burst: float | None
    busy_share: float | None
    stall_share: float | None
    idle_share: float | None
    empty_calls_share: float | None
    stalled_calls: int | None
    interrupted_calls: int | None
    interrupted_share: float | None
    drops: dict[str, int] | None
    burst: dict[int, int] | None
    completion: Spread | None
    stall: Spread | None
    net_work_ns: float | None = None
    """`work_ns` without what reading the clock added to it; None: not known."""
    counters: dict[str, int | None] | None = None
    """The sum of every counter of its lines by name; null: not counted, or not by the release that wrote the run."""

    @property
    def dropped(self) -> int | None:
        return None if self.drops is None else sum(self.drops.values())


@dataclass(frozen=True)
class StepRow:
    """One step of the handlers that a stage calls, all instances together. Cycles are those of timed calls."""

    endpoint: str
    stage: str
    step: str
    traffic: bool
    """It makes the handler's own traffic: in no other row's time, share or work."""
    copier: bool
    """It is the copier's of this stage, and no step of the handler, which may have one of the same name."""
    ns: float | None
    """A packet that went through it, the stamps included."""
    stamp_ns: float | None
    """The part of `ns` that went into reading the clock."""
    stage_ns: float | None
    """A packet of the stage: these add up to what the handler takes of the stage's work."""
    share: float | None
    """Share of the stage's work; None for a step that makes traffic."""
    packets_share: float | None
    """Packets that went through it, of those of the stage."""

    @property
    def label(self) -> str:
        """Its name in tables."""
        return f"{self.step} (copier)" if self.copier else self.step


@dataclass(frozen=True)
class HandlerCounterRow:
    """What the handlers of a stage counted themselves, all instances together."""

    endpoint: str
    stage: str
    of: str
    name: str
    unit: str
    kind: Literal["count", "level", "wrong"]
    value: int
    """Counts: over the measured windows; levels: at the end of the last of them."""
    per_s: float | None
    """Rate of a count; None for the other kinds."""


@dataclass(frozen=True)
class WorkerRow:
    """One worker; the shares are of the stage calls that were timed and add up to one. `preempted` is of the measured time:
    when it was runnable and the kernel ran another thread."""

    worker: int
    cpu: int
    sides: str
    mloops: float | None
    work_share: float | None
    stall_share: float | None
    idle_share: float | None
    interrupted_share: float | None
    traffic_share: float | None
    """Spent by handlers that make their own traffic."""
    preempted_share: float | None


@dataclass(frozen=True)
class PortRow:
    """The port of one endpoint. Bits are those of mbufs: a frame check sequence and the gaps of a link are not in them."""

    endpoint: str
    rx_packets: int
    tx_packets: int
    rx_mpps: float | None
    tx_mpps: float | None
    rx_gbps: float | None
    tx_gbps: float | None
    rx_burst: float | None
    tx_burst: float | None
    tx_packets_per_doorbell: float | None


@dataclass(frozen=True)
class WorkloadRow:
    """The client's view of one workload. `late` and `duplicates` count responses, the others count messages."""

    workload: str
    loop: Literal["open", "closed"]
    """Open: messages leave when they fall due; closed: when a response frees their slot, so that latency is mostly a queue of the
    client's own making."""
    offered: int
    sent: int
    responses: int
    lost: int
    late: int
    duplicates: int
    negative_latency: int | None
    """Responses with a stamp before that of their request: their latency counts as 0. None: not counted by that release."""
    unsent: int
    in_flight: int
    responses_per_s: float | None
    offered_per_s: float | None
    latency: Latency
    """Latency from the intended send time: corrected for what the client sent late."""
    latency_sent: Latency
    """Latency from the real send time."""
    pacing: Latency | None
    """How late messages left, each against its intended time; None in a closed loop."""


@dataclass(frozen=True)
class PhaseRow:
    """One workload in one phase of its load, over the measured windows that lie wholly in the phase."""

    workload: str
    phase: int
    """Number of the phase, from 1, in the scenario's order."""
    load: str
    """What the phase offers, in words."""
    measured_s: float
    """Measured time that belongs to the phase, s."""
    counted_s: float
    """Length of the windows that lie wholly in it, s."""
    result: WorkloadRow | None
    """None: no window does. A response belongs to the phase in which it arrived."""

    @property
    def left_out(self) -> float:
        """Share of the phase's time in excluded windows, which cross its boundaries."""
        return max(1 - self.counted_s / self.measured_s, 0)


@dataclass(frozen=True)
class Middle:
    """The median of a value over windows, and its exact 95% interval: None for too few windows."""

    median: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class VariantRow:
    """One variant of a run that changes between windows, over those of its windows that are not excluded."""

    name: str
    measured: int
    """Windows, those that are excluded included."""
    windows: int
    ns_per_message: Middle | None
    """Time of a window over its responses; without a client, over the packets that it received."""
    responses_per_s: float | None
    delay_ns: float | None
    """What delays added to a message in all stages together, as counted: part of the stages' time."""
    p50: int | None
    """Latency from the intended send time of all workloads together, ns."""
    p99: int | None


@dataclass(frozen=True)
class LevelRow:
    """How full a ring got, or how empty a pool, as seen at the ends of windows."""

    name: str
    size: int
    lowest: int
    highest: int


Row = TypeVar("Row")


def only(kind: type[Row], **known: Any) -> Row:
    """A row with only these fields; the others are None."""
    row: Any = kind
    return kind(**(dict.fromkeys(field.name for field in fields(row)) | known))
