"""The lines of observation.jsonl: what an observed application did in one window. Counters are what the window added; times are TSC ticks,
unless the name ends in _ns."""

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Self

from pydantic import Field, model_validator

from windtunnel.engine.line_model import Line
from windtunnel.parts.attach.page import BURSTS, CHANNELS, DELAYS, PORTS

LEAST_WINDOWS = 5
"""Windows that must be left: fewer have no interval."""

Count = Annotated[int, Field(ge=0, lt=1 << 64)]
"""A counter of the page, or a difference of two of its readings."""
Calls = dict[Annotated[int, Field(ge=0, lt=BURSTS)], Count]
"""Packets of a call -> calls."""
Delays = dict[Annotated[int, Field(ge=0, lt=DELAYS)], Count]
"""Bin of a delay -> packets."""
ThreadNumber = Annotated[int, Field(gt=0, lt=1 << 32)]


class TurnsLine(Line):
    """Timed turns that began with a receive call of so many packets."""

    packets: int = Field(ge=0, lt=BURSTS, description="of the receive call; 65: more than 64")
    turns: Count
    rx_ticks: Count
    application_ticks: Count
    tx_ticks: Count

    @property
    def ticks(self) -> int:
        return self.rx_ticks + self.application_ticks + self.tx_ticks


class ChannelLine(Line):
    """What one thread did on one queue, while the probe was present."""

    thread: ThreadNumber
    lcore: int | None = Field(ge=0, lt=1 << 16, description="EAL's number; null: not known")
    port: int = Field(ge=0, lt=PORTS)
    queue: int = Field(ge=0, lt=1 << 16)
    receives: bool
    asked: Count = Field(description="most packets that a call asked for, or handed over, so far")
    calls: Count
    packets: Count = Field(description="received, or taken by the driver")
    refused: Count = Field(description="handed to the driver and not taken")
    bursts: Calls = Field(description="packets of a call -> calls; 65: more than 64")
    timed: list[TurnsLine] = Field(default_factory=list, max_length=BURSTS, description="of receive calls")
    interrupted_turns: Count = Field(description="timed turns above 50 us: in no other time")
    interrupted_ticks: Count
    sized_packets: Count
    sized_bytes: Count
    delays: Delays = Field(default_factory=dict, description="bin of ticks inside the application -> packets")
    delays_lost: Count
    delayed_ticks: Count = Field(description="that the observer added")

    @property
    def key(self) -> tuple[int, int, int, bool]:
        return self.thread, self.port, self.queue, self.receives


class PhaseLine(Line):
    """What a port moved in the phases of one kind."""

    phases: Count
    ticks: Count
    rx_packets: Count
    tx_packets: Count


class PortLine(Line):
    """A port, by the counters of the application's own DPDK; null: it has no statistics, or they were set back."""

    port: int = Field(ge=0, lt=PORTS)
    ticks: Count = Field(description="between both readings")
    ipackets: Count | None
    opackets: Count | None
    ibytes: Count | None
    obytes: Count | None
    imissed: Count | None
    ierrors: Count | None
    oerrors: Count | None
    rx_nombuf: Count | None
    present: PhaseLine
    absent: PhaseLine


class ThreadLine(Line):
    """What the kernel says of a thread with a channel (schedstat)."""

    thread: ThreadNumber
    cpu: Count = Field(description="on which it ran last")
    on_cpu_ns: Count | None
    preempted_ns: int | None = Field(ge=0, description="runnable, and not running")


class WindowLine(Line):
    """One window of an observation."""

    index: Count
    start_ns: Count = Field(description="since the begin of the observation")
    end_ns: Count
    present_ticks: Count = Field(description="in which the probe was in the data path")
    channels: list[ChannelLine] = Field(max_length=CHANNELS)
    ports: list[PortLine] = Field(max_length=PORTS)
    threads: list[ThreadLine] = Field(max_length=CHANNELS)
    excluded: str | None = Field(None, max_length=1000, description="why no metric uses it; null: all do")

    @model_validator(mode="after")
    def _lasts(self) -> Self:
        if self.end_ns <= self.start_ns:
            raise ValueError("end_ns is not after start_ns")
        return self

    @cached_property
    def channels_of(self) -> dict[int, list[ChannelLine]]:
        """Thread -> its channels."""
        channels: dict[int, list[ChannelLine]] = {}
        for channel in self.channels:
            channels.setdefault(channel.thread, []).append(channel)
        return channels

    @cached_property
    def receivers_of(self) -> dict[int, set[int]]:
        """Port -> threads that called for packets there."""
        threads: dict[int, set[int]] = {}
        for channel in self.channels:
            if channel.receives and channel.calls:
                threads.setdefault(channel.port, set()).add(channel.thread)
        return threads

    @cached_property
    def on_cpu_ns_of(self) -> dict[int, int | None]:
        """Thread -> ns on its CPU."""
        return {thread.thread: thread.on_cpu_ns for thread in self.threads}


def counted(windows: Sequence[WindowLine]) -> list[WindowLine]:
    """The windows that metrics use: those that are not excluded, unless so few are left that the observation is invalid. Then its rejected
    metrics use all."""
    left = [window for window in windows if window.excluded is None]
    return left if len(left) >= LEAST_WINDOWS else list(windows)
