"""What the windows of an observation say of each lcore: rates, bursts, and where the time of a packet goes.

A *turn* of a thread lasts from one receive call to the next one. The probe times some turns, drawn at random, and splits each into the driver's
receive, the driver's transmit and the rest, which is the application's. Reading the clock makes a timed turn longer. By how much follows from
an identity: all turns together last as long as the thread was on its CPU. For a saturated thread these are the turns without the probe, which
the ports' own counters tell. What is too much is taken off again.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial, reduce
from itertools import chain
from typing import Self

import numpy as np
from numpy.typing import NDArray

from windtunnel.parts.attach.lines import ChannelLine, WindowLine, counted
from windtunnel.parts.attach.page import BURSTS
from windtunnel.runs.metrics import add, ratio
from windtunnel.stats.mean import Estimate, jackknife, neighbours

TIMED = ("turns", "rx_ticks", "application_ticks", "tx_ticks")
"""What is summed of timed turns."""
SIZES = np.arange(BURSTS)

CLOCK_READS = {"rx": 0.25, "application": 0.5, "tx": 0.25}
"""Shares of the four readings of the clock in a turn: each part of it has those at which it begins and ends, half of each."""
MOST_CLOCK_TICKS = 1000.0
"""Ticks that the probe makes a timed turn longer at the most: 50 to 400 were seen."""
LEAST_SHARE = 0.01
"""Share of the turns with packets that a burst size needs to count for the line."""
LEAST_RANGE = 4
"""The largest burst of the line is at least so many times the smallest: else a price a burst and one a packet cannot be told apart."""
LEAST_SIZES = 3
FULL = 0.98
"""A thread whose mean burst is this share of what it asks for, and that finds packets at each call, is saturated."""
IDLE = 0.02
"""Share of receive calls without a packet up to which a thread finds packets at each call."""


@dataclass(frozen=True)
class Cost:
    """Where the time of a packet goes, ns a packet, over turns that received packets."""

    rx: Estimate | None
    application: Estimate | None
    tx: Estimate | None
    all: Estimate | None


@dataclass(frozen=True)
class Totals:
    """What a thread did in windows in a row. Floats: sums of hostile counters fit."""

    timed: NDArray[np.float64]
    """[packets of the receive call, TIMED]: timed turns, and ticks in each part of them."""
    calls: float
    """Receive calls."""
    packets: float
    """Received."""
    present_ticks: float
    running_ticks: float
    """Part of `present_ticks` in which it was on its CPU."""
    absent_packets: float
    """Received by its ports while the probe was absent."""
    absent_running_ticks: float

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    @property
    def turns(self) -> NDArray[np.float64]:
        """Timed turns by packets of the receive call."""
        return self.timed[:, 0]

    @property
    def ticks(self) -> NDArray[np.float64]:
        """Ticks of the timed turns by packets of the receive call."""
        return np.asarray(self.timed[:, 1:].sum(axis=1))


@dataclass(frozen=True)
class Thread:
    """A thread of the data path in the windows of an observation that count."""

    number: int
    windows: Sequence[WindowLine]
    tick_ns: float

    @cached_property
    def lcore(self) -> int | None:
        return next((channel.lcore for channel in self._channels()), None)

    @cached_property
    def cpu(self) -> int | None:
        return next((t.cpu for window in self.windows for t in window.threads if t.thread == self.number), None)

    @property
    def name(self) -> str:
        return f"thread {self.number}" if self.lcore is None else f"lcore {self.lcore}"

    @cached_property
    def asked(self) -> int:
        """The most packets that a receive call asked for; 0: it receives from no port."""
        return max((channel.asked for channel in self._channels(receives=True)), default=0)

    @cached_property
    def bursts(self) -> dict[int, int]:
        """Packets of a receive call -> calls."""
        return add(channel.bursts for channel in self._channels(receives=True))

    @cached_property
    def mean_burst(self) -> float | None:
        """Packets of a receive call that received some."""
        calls = sum(count for size, count in self.bursts.items() if size)
        return ratio(self._total.packets, calls)

    @property
    def empty_calls(self) -> float | None:
        """Share of the receive calls without a packet."""
        return ratio(self.bursts.get(0, 0), sum(self.bursts.values()))

    @property
    def refused(self) -> int:
        """Packets that a driver did not take."""
        return sum(channel.refused for channel in self._channels(receives=False))

    @property
    def sent(self) -> int:
        """Packets that drivers took."""
        return sum(channel.packets for channel in self._channels(receives=False))

    @property
    def saturated(self) -> bool:
        """Whether it finds as many packets as it asks for, at each call: more load would be lost."""
        if self.mean_burst is None or self.empty_calls is None:
            return False
        return self.empty_calls <= IDLE and self.mean_burst >= FULL * self.asked

    @cached_property
    def rate(self) -> Estimate | None:
        """Packets received, a second of presence."""
        return self._estimate(self._rate_in)

    @cached_property
    def busy(self) -> Estimate | None:
        """Share of the time that turns with packets take."""
        return self._estimate(self._busy_in)

    @cached_property
    def cost(self) -> Cost:
        parts = {part: self._estimate(partial(self._cost_in, parts=(part,))) for part in CLOCK_READS}
        return Cost(**parts, all=self._estimate(partial(self._cost_in, parts=tuple(CLOCK_READS))))

    @cached_property
    def capacity(self) -> Estimate | None:
        """Packets a second at full bursts, by the line ns = a + b x packets of its turns; None: `no_line` says why there is none."""
        return None if self.no_line else self._estimate(self._capacity_in)

    @cached_property
    def no_line(self) -> str | None:
        """Why its bursts do not tell a price a burst from a price a packet, as a sentence; None: they do."""
        sizes = _weighty(self._total)
        if len(sizes) < LEAST_SIZES or sizes[-1] < LEAST_RANGE * sizes[0]:
            return "its bursts hardly vary, so the price of a burst cannot be told from that of a packet"
        return None

    @cached_property
    def line(self) -> tuple[float, float] | None:
        """Ticks a burst and ticks a packet of its turns; None: too few sizes have turns."""
        return self._line_in(self._total)

    @cached_property
    def empty_turn_ns(self) -> float | None:
        """Length of a turn that received nothing; None: none was timed."""
        ticks = ratio(self._total.ticks[0], self._total.turns[0])
        return None if ticks is None else ticks * self.tick_ns

    def delays(self) -> dict[int, int]:
        """Bin of ticks from receive to transmit -> packets."""
        return add(channel.delays for channel in self._channels(receives=True))

    def _channels(self, windows: Sequence[WindowLine] | None = None, receives: bool | None = None) -> list[ChannelLine]:
        chosen = self.windows if windows is None else windows
        channels = chain.from_iterable(window.channels_of.get(self.number, ()) for window in chosen)
        return [channel for channel in channels if receives in (None, channel.receives)]

    @cached_property
    def _groups(self) -> list[Totals]:
        return [self._totals(windows) for windows in neighbours(self.windows)]

    @cached_property
    def _total(self) -> Totals:
        return _sum(self._groups)

    def _estimate(self, statistic: Callable[[Totals], float | None]) -> Estimate | None:
        return jackknife(self._groups, lambda groups: statistic(_sum(groups)))

    def _totals(self, windows: Sequence[WindowLine]) -> Totals:
        channels = self._channels(windows, receives=True)
        timed = np.zeros((BURSTS, len(TIMED)))
        for turns in chain.from_iterable(channel.timed for channel in channels):
            timed[turns.packets] += [getattr(turns, name) for name in TIMED]
        absent = [[line.absent for line in window.ports if line.port in self._ports] for window in windows]
        running = [self._on_cpu(window) for window in windows]
        absent_ticks = [max((phase.ticks for phase in phases), default=0) for phases in absent]
        return Totals(
            timed,
            calls=sum(channel.calls for channel in channels),
            packets=sum(channel.packets for channel in channels),
            present_ticks=sum(window.present_ticks for window in windows),
            running_ticks=sum(share * window.present_ticks for share, window in zip(running, windows, strict=True)),
            absent_packets=sum(phase.rx_packets for phases in absent for phase in phases),
            absent_running_ticks=sum(share * ticks for share, ticks in zip(running, absent_ticks, strict=True)),
        )

    @cached_property
    def _ports(self) -> set[int]:
        """From which it receives."""
        return {channel.port for channel in self._channels(receives=True)}

    @cached_property
    def _shares_ports(self) -> bool:
        receivers = (window.receivers_of.get(port, ()) for window in self.windows for port in self._ports)
        return bool(set(chain.from_iterable(receivers)) - {self.number})

    def _on_cpu(self, window: WindowLine) -> float:
        """Share of the window in which the thread was on a CPU; 1 if the kernel does not say."""
        on_cpu = window.on_cpu_ns_of.get(self.number)
        return 1.0 if on_cpu is None else min(on_cpu / (window.end_ns - window.start_ns), 1.0)

    def _rate_in(self, total: Totals) -> float | None:
        return ratio(total.packets, total.present_ticks * self.tick_ns / 1e9)

    def _busy_in(self, total: Totals) -> float | None:
        ticks = total.ticks - self._clock_ticks(total) * total.turns
        return ratio(ticks[1:].sum(), ticks.sum())

    def _cost_in(self, total: Totals, parts: Sequence[str]) -> float | None:
        ticks = sum(total.timed[1:, TIMED.index(f"{part}_ticks")].sum() for part in parts)
        clock = self._clock_ticks(total) * sum(CLOCK_READS[part] for part in parts)
        packets = float(SIZES @ total.turns)
        return ratio((ticks - clock * total.turns[1:].sum()) * self.tick_ns, packets)

    def _capacity_in(self, total: Totals) -> float | None:
        line = self._line_in(total)
        return None if line is None else ratio(self.asked * 1e9, (line[0] + self.asked * line[1]) * self.tick_ns)

    def _line_in(self, total: Totals) -> tuple[float, float] | None:
        sizes = _weighty(total)
        if len(sizes) < 2:
            return None
        turns = total.turns[sizes]
        means = total.ticks[sizes] / turns - self._clock_ticks(total)
        a_packet, a_burst = np.polyfit(sizes, means, 1, w=np.sqrt(turns))
        return float(a_burst), float(a_packet)

    def _clock_ticks(self, total: Totals) -> float:
        """By how many ticks a timed turn is longer than another one: what the probe takes in it. What it is compared with does not hold for a
        thread that sleeps in its turns, so it is bounded."""
        turns = total.turns.sum()
        other = self._turn_without_probe(total) or ratio(total.running_ticks, total.calls)
        if not turns or other is None:
            return 0.0
        return min(max(float(total.ticks.sum() / turns) - other, 0.0), MOST_CLOCK_TICKS)

    def _turn_without_probe(self, total: Totals) -> float | None:
        """Mean ticks of a turn while the probe is absent, by the ports' own counters: a saturated thread has a full burst in each. None: it is
        not saturated, it shares a port with another thread, or a port has no counters."""
        if not self.saturated or not self.mean_burst or self._shares_ports:
            return None
        return ratio(total.absent_running_ticks * self.mean_burst, total.absent_packets)


def threads(windows: Sequence[WindowLine], tsc_hz: float) -> list[Thread]:
    """The threads that received or sent, by lcore, over the windows that count."""
    used = counted(windows)
    numbers = dict.fromkeys(channel.thread for window in used for channel in window.channels if channel.calls)
    found = [Thread(number, used, 1e9 / tsc_hz) for number in numbers]
    return sorted(found, key=lambda thread: (thread.lcore is None, thread.lcore or 0, thread.number))


def _sum(totals: Sequence[Totals]) -> Totals:
    return reduce(operator.add, totals)


def _weighty(total: Totals) -> NDArray[np.int64]:
    """Burst sizes with packets that enough of the timed turns have. More than 64 packets have no size of their own."""
    turns = np.where((SIZES > 0) & (SIZES < BURSTS - 1), total.turns, 0)
    return np.flatnonzero(turns >= max(LEAST_SHARE * turns.sum(), 1))
