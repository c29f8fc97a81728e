"""The lines of observation.jsonl: what an observed application did in one window. Counters are what the window added; times are TSC ticks,
unless the name ends in _ns."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

LEAST_WINDOWS = 5
"""Windows that must be left: fewer have no interval."""


class Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TurnsLine(Line):
    """Timed turns that began with a receive call of so many packets."""

    packets: int = Field(ge=0, description="of the receive call; 65: more than 64")
    turns: int = Field(ge=0)
    rx_ticks: int = Field(ge=0)
    application_ticks: int = Field(ge=0)
    tx_ticks: int = Field(ge=0)

    @property
    def ticks(self) -> int:
        return self.rx_ticks + self.application_ticks + self.tx_ticks


class ChannelLine(Line):
    """What one thread did on one queue, while the probe was present."""

    thread: int = Field(gt=0)
    lcore: int | None = Field(description="EAL's number; null: not known")
    port: int = Field(ge=0)
    queue: int = Field(ge=0)
    receives: bool
    asked: int = Field(ge=0, description="most packets that a call asked for, or handed over, so far")
    calls: int = Field(ge=0)
    packets: int = Field(ge=0, description="received, or taken by the driver")
    refused: int = Field(ge=0, description="handed to the driver and not taken")
    bursts: dict[int, int] = Field(description="packets of a call -> calls; 65: more than 64")
    timed: list[TurnsLine] = Field(default_factory=list, description="of receive calls")
    interrupted_turns: int = Field(ge=0, description="timed turns above 50 us: in no other time")
    interrupted_ticks: int = Field(ge=0)
    sized_packets: int = Field(ge=0)
    sized_bytes: int = Field(ge=0)
    delays: dict[int, int] = Field(default_factory=dict, description="bin of ticks inside the application -> packets")
    delays_lost: int = Field(ge=0)
    delayed_ticks: int = Field(ge=0, description="that the observer added")

    @property
    def key(self) -> tuple[int, int, int, bool]:
        return self.thread, self.port, self.queue, self.receives


class PhaseLine(Line):
    """What a port moved in the phases of one kind."""

    phases: int = Field(ge=0)
    ticks: int = Field(ge=0)
    rx_packets: int = Field(ge=0)
    tx_packets: int = Field(ge=0)


class PortLine(Line):
    """A port, by the counters of the application's own DPDK; null: it has no statistics, or they were set back."""

    port: int = Field(ge=0)
    ticks: int = Field(ge=0, description="between both readings")
    ipackets: int | None = Field(ge=0)
    opackets: int | None = Field(ge=0)
    ibytes: int | None = Field(ge=0)
    obytes: int | None = Field(ge=0)
    imissed: int | None = Field(ge=0)
    ierrors: int | None = Field(ge=0)
    oerrors: int | None = Field(ge=0)
    rx_nombuf: int | None = Field(ge=0)
    present: PhaseLine
    absent: PhaseLine


class ThreadLine(Line):
    """What the kernel says of a thread with a channel (schedstat)."""

    thread: int = Field(gt=0)
    cpu: int = Field(ge=0, description="on which it ran last")
    on_cpu_ns: int | None = Field(ge=0)
    preempted_ns: int | None = Field(ge=0, description="runnable, and not running")


class WindowLine(Line):
    """One window of an observation."""

    index: int = Field(ge=0)
    start_ns: int = Field(description="since the begin of the observation")
    end_ns: int
    present_ticks: int = Field(ge=0, description="in which the probe was in the data path")
    channels: list[ChannelLine]
    ports: list[PortLine]
    threads: list[ThreadLine]
    excluded: str | None = Field(None, description="why no metric uses it; null: all do")


def counted(windows: Sequence[WindowLine]) -> list[WindowLine]:
    """The windows that metrics use: those that are not excluded, unless so few are left that the observation is invalid. Then its rejected
    metrics use all."""
    left = [window for window in windows if window.excluded is None]
    return left if len(left) >= LEAST_WINDOWS else list(windows)
