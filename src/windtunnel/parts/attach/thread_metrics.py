"""What the windows of an observation say of each lcore: rates, bursts, and where the time of a packet goes.

A *turn* of a thread lasts from one receive call to the next one. The probe times some turns, drawn at random, and splits each into the driver's
receive, the driver's transmit and the rest, which is the application's. Reading the clock makes a timed turn longer. By how much follows from
an identity: all turns together last as long as the thread was on its CPU. For a saturated thread these are the turns without the probe, which
the ports' own counters tell. What is too much is taken off again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain

import numpy as np

from windtunnel.parts.attach.lines import ChannelLine, TurnsLine, WindowLine, counted
from windtunnel.runs.metrics import add, ratio
from windtunnel.stats.mean import Estimate, jackknife

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

    @property
    def mean_burst(self) -> float | None:
        """Packets of a receive call that received some."""
        calls = sum(count for size, count in self.bursts.items() if size)
        return ratio(sum(channel.packets for channel in self._channels(receives=True)), calls)

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
        return jackknife(self.windows, self._rate_in)

    @cached_property
    def busy(self) -> Estimate | None:
        """Share of the time that turns with packets take."""
        return jackknife(self.windows, self._busy_in)

    @cached_property
    def cost(self) -> Cost:
        parts = {part: jackknife(self.windows, partial(self._cost_in, parts=(part,))) for part in CLOCK_READS}
        return Cost(**parts, all=jackknife(self.windows, partial(self._cost_in, parts=tuple(CLOCK_READS))))

    @cached_property
    def capacity(self) -> Estimate | None:
        """Packets a second at full bursts, by the line ns = a + b x packets of its turns; None: `no_line` says why there is none."""
        return None if self.no_line else jackknife(self.windows, self._capacity_in)

    @cached_property
    def no_line(self) -> str | None:
        """Why its bursts do not tell a price a burst from a price a packet, as a sentence; None: they do."""
        sizes = sorted(_weighty(self._turns(self.windows)))
        if len(sizes) < LEAST_SIZES or sizes[-1] < LEAST_RANGE * sizes[0]:
            return "its bursts hardly vary, so the price of a burst cannot be told from that of a packet"
        return None

    def line(self, windows: Sequence[WindowLine] | None = None) -> tuple[float, float] | None:
        """Ticks a burst and ticks a packet of its turns; None: too few sizes have turns."""
        windows = self.windows if windows is None else windows
        turns = _weighty(self._turns(windows))
        if len(turns) < 2:
            return None
        clock = self._clock_ticks(windows)
        sizes = np.array(list(turns), dtype=float)
        counts = np.array([line.turns for line in turns.values()], dtype=float)
        means = np.array([line.ticks for line in turns.values()], dtype=float) / counts - clock
        a_packet, a_burst = np.polyfit(sizes, means, 1, w=np.sqrt(counts))
        return float(a_burst), float(a_packet)

    def delays(self) -> dict[int, int]:
        """Bin of ticks from receive to transmit -> packets."""
        return add(channel.delays for channel in self._channels(receives=True))

    def _channels(self, windows: Sequence[WindowLine] | None = None, receives: bool | None = None) -> list[ChannelLine]:
        chosen = self.windows if windows is None else windows
        channels = chain.from_iterable(window.channels_of.get(self.number, ()) for window in chosen)
        return [channel for channel in channels if receives in (None, channel.receives)]

    def _turns(self, windows: Sequence[WindowLine]) -> list[TurnsLine]:
        return [turns for channel in self._channels(windows, receives=True) for turns in channel.timed]

    def _rate_in(self, windows: Sequence[WindowLine]) -> float | None:
        packets = sum(channel.packets for channel in self._channels(windows, receives=True))
        return ratio(packets, sum(w.present_ticks for w in windows) * self.tick_ns / 1e9)

    def _busy_in(self, windows: Sequence[WindowLine]) -> float | None:
        clock, turns = self._clock_ticks(windows), self._turns(windows)
        busy = sum(line.ticks - clock * line.turns for line in turns if line.packets)
        return ratio(busy, sum(line.ticks - clock * line.turns for line in turns))

    def _cost_in(self, windows: Sequence[WindowLine], parts: Sequence[str]) -> float | None:
        with_packets = [line for line in self._turns(windows) if line.packets]
        ticks = sum(getattr(line, f"{part}_ticks") for line in with_packets for part in parts)
        clock = self._clock_ticks(windows) * sum(CLOCK_READS[part] for part in parts)
        packets = sum(line.packets * line.turns for line in with_packets)
        return ratio((ticks - clock * sum(line.turns for line in with_packets)) * self.tick_ns, packets)

    def _capacity_in(self, windows: Sequence[WindowLine]) -> float | None:
        line = self.line(windows)
        return None if line is None else ratio(self.asked * 1e9, (line[0] + self.asked * line[1]) * self.tick_ns)

    def _clock_ticks(self, windows: Sequence[WindowLine]) -> float:
        """By how many ticks a timed turn is longer than another one: what the probe takes in it. What it is compared with does not hold for a
        thread that sleeps in its turns, so it is bounded."""
        timed = self._turns(windows)
        turns = sum(line.turns for line in timed)
        other = self._turn_without_probe(windows) or self._turn_with_probe(windows)
        if not turns or other is None:
            return 0.0
        return min(max(sum(line.ticks for line in timed) / turns - other, 0.0), MOST_CLOCK_TICKS)

    def _turn_with_probe(self, windows: Sequence[WindowLine]) -> float | None:
        """Mean ticks of a turn while the probe counts: all turns together last as long as the thread was on its CPU."""
        turns = sum(channel.calls for channel in self._channels(windows, receives=True))
        return ratio(sum(window.present_ticks * self._on_cpu(window) for window in windows), turns)

    def _turn_without_probe(self, windows: Sequence[WindowLine]) -> float | None:
        """Mean ticks of a turn while the probe is absent, by the ports' own counters: a saturated thread has a full burst in each. None: it is
        not saturated, it shares a port with another thread, or a port has no counters."""
        ports = {channel.port for channel in self._channels(receives=True)}
        receivers = {number for window in windows for port in ports for number in window.receivers_of.get(port, ())}
        if not self.saturated or not self.mean_burst or receivers - {self.number}:
            return None
        lines = [[line.absent for line in window.ports if line.port in ports] for window in windows]
        packets = sum(phase.rx_packets for phases in lines for phase in phases)
        ticks = sum(
            max((p.ticks for p in phases), default=0) * self._on_cpu(w)
            for w, phases in zip(windows, lines, strict=True)
        )
        return ratio(ticks * self.mean_burst, packets)

    def _on_cpu(self, window: WindowLine) -> float:
        """Share of the window in which the thread was on a CPU; 1 if the kernel does not say."""
        on_cpu = window.on_cpu_ns_of.get(self.number)
        return 1.0 if on_cpu is None else min(on_cpu / (window.end_ns - window.start_ns), 1.0)


def threads(windows: Sequence[WindowLine], tsc_hz: float) -> list[Thread]:
    """The threads that received or sent, by lcore, over the windows that count."""
    used = counted(windows)
    numbers = dict.fromkeys(channel.thread for window in used for channel in window.channels if channel.calls)
    found = [Thread(number, used, 1e9 / tsc_hz) for number in numbers]
    return sorted(found, key=lambda thread: (thread.lcore is None, thread.lcore or 0, thread.number))


def _weighty(turns: Sequence[TurnsLine]) -> dict[int, TurnsLine]:
    """Turns with packets by burst size, of sizes that enough of them have. More than 64 packets have no size of their own."""
    by_size: dict[int, list[TurnsLine]] = {}
    for line in turns:
        if 0 < line.packets <= 64:
            by_size.setdefault(line.packets, []).append(line)
    summed = {size: _sum(size, lines) for size, lines in sorted(by_size.items())}
    least = LEAST_SHARE * sum(line.turns for line in summed.values())
    return {size: line for size, line in summed.items() if line.turns >= max(least, 1)}


def _sum(size: int, lines: Sequence[TurnsLine]) -> TurnsLine:
    """Without the bounds of a line, because a sum may be above them."""
    names = ("turns", "rx_ticks", "application_ticks", "tx_ticks")
    return TurnsLine.model_construct(
        packets=size, **{name: sum(getattr(line, name) for line in lines) for name in names}
    )
