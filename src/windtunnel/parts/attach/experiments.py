"""Delays in one thread of an application at a time: which thread limits, and how much room a thread has.

*Causal* (C. Curtsinger and E. Berger, "Coz", SOSP 2015, turned round: it delays the candidate and not the others): so many ns more a packet in
the thread that limits make all packets so many ns slower, and change nothing anywhere else. Rings between threads need not be seen.

*Headroom*: a thread with room takes small bursts, whose price a packet is higher, so no share of its time says how much it carries. Delays fill
that room, and bursts grow. At a rate r, with a delay d a packet, a share i of idle time and b packets in a burst, each step gives one point of
the straight line (1 - i) / r - d = burst / b + packet. At the largest burst this is what a packet takes when the thread is full. Delays grow
from below, so that no queue does.
"""

import select
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from statistics import fmean
from typing import Literal

import numpy as np
from pydantic import Field

from windtunnel.engine.line_model import Line
from windtunnel.finding import NotMeasured
from windtunnel.parts.attach.lines import Count, WindowLine
from windtunnel.parts.attach.observer import Observer
from windtunnel.parts.attach.page import Page
from windtunnel.parts.attach.thread_metrics import Thread
from windtunnel.runs.metrics import ratio
from windtunnel.stats.mean import Estimate, jackknife

ROUND_S = 0.05
"""Length of one step of a causal experiment."""
ROUNDS = 40
"""No experiment has more steps of a thread."""
SETTLE_S = 0.01
"""After a change of the delay: the probe takes it up within 5 ms, and queues between threads fill or drain."""
DELAY_SHARE = 0.5
"""Delay of a causal experiment, as a share of what a packet takes in the thread."""
LIMITS, LIMITS_NOT = 0.7, 0.3
"""A slope whose interval is above the first limits; below the second it does not."""
STEP_S = 0.2
"""Length of one step of a headroom experiment."""
MOST_STEPS = 20
STEP_SHARE = 0.6
"""Part of the idle time that the next step fills."""
FIRST_SHARE = 0.1
"""Part of the time between two packets by which the delay grows while the price of a burst is not known."""
FILLED = 0.05
"""Share of idle time at which a thread is filled, if its bursts are half full too."""
FULL_SHARE = 0.75
"""Part of the largest burst that a step aims at, at most: at the whole of it a queue would grow."""
FILLED_WINDOWS = 8
LEAST_POINTS, LEAST_RANGE = 3, 0.1
"""Steps of a line, and the range of 1 / burst in them, as a share of its mean."""
MOST_DELAY_S = 1e-3 / 64
"""Longest delay a packet: the probe bounds that of a call to 1 ms."""


class DelayLine(Line):
    """One step of an experiment."""

    kind: Literal["causal", "headroom"]
    round: int = Field(ge=0, lt=ROUNDS)
    thread: int = Field(ge=0, lt=1 << 32, description="that was delayed; 0: none")
    delay_ns: float = Field(ge=0, le=1e9, description="a packet")
    seconds: float = Field(gt=1e-6, le=1e6)
    packets: Count = Field(
        description="causal: that the application sent, or received if it sends none; headroom: received by the thread"
    )
    idle: float | None = Field(None, ge=0, le=1, description="headroom: share of the time in calls without a packet")
    calls: Count | None = Field(None, description="headroom: that received some")
    asked: Count | None = Field(None, description="headroom: most packets that a call asks for")
    missed: Count = Field(description="by all ports")


class NotShownLine(Line):
    """An experiment that showed nothing."""

    kind: Literal["not shown"] = "not shown"
    thread: int = Field(ge=0, lt=1 << 32, description="of which; 0: of all")
    reason: str = Field(max_length=1000)


@dataclass(frozen=True)
class Slope:
    """How much slower all packets were, for each ns that packets of a thread were delayed."""

    thread: int
    slope: Estimate

    @property
    def limits(self) -> bool | None:
        """None: the interval does not tell."""
        if self.slope.low is not None and self.slope.low > LIMITS:
            return True
        if self.slope.high is not None and self.slope.high < LIMITS_NOT:
            return False
        return None


class Delays:
    """Puts delays into one thread at a time, for as long as a step lasts. A step ends early if `stop_fd` is readable: an application of
    hundreds of threads has an hour of them."""

    def __init__(self, page: Page, observer: Observer, tick_ns: float, stop_fd: int):
        self._page, self._observer, self._tick_ns, self._stop_fd = page, observer, tick_ns, stop_fd

    def step(self, thread: int, delay_ns: float, seconds: float) -> WindowLine:
        """A window with this delay a packet in the thread, after it has settled. Raises NotMeasured if it is stopped."""
        control = self._page.control
        control.delay_thread, control.fill_ticks = thread, 0
        control.delay_ticks = min(round(delay_ns / self._tick_ns), 0xFFFFFFFF)
        control.delay_until_ns = time.monotonic_ns() + round((seconds + SETTLE_S) * 1e9) + 100_000_000
        self._page.wake()
        self._rest(SETTLE_S)
        self._observer.window()
        self._rest(seconds)
        return self._observer.window()

    def _rest(self, seconds: float) -> None:
        if select.select([self._stop_fd], [], [], seconds)[0]:
            raise NotMeasured("the user has stopped it")

    def end(self) -> None:
        self._page.control.delay_thread = self._page.control.delay_ticks = self._page.control.delay_until_ns = 0
        self._page.wake()


def run_causal(delays: Delays, threads: Sequence[Thread], keep: Callable[[DelayLine], None]) -> None:
    """Rounds in which no thread, and then each thread in turn, is delayed, by a share of what the dearest thread takes a packet.
    Raises NotMeasured if that is not known."""
    costs = [thread.cost.all.mean for thread in threads if thread.cost.all]
    if not costs:
        raise NotMeasured("no thread has timed turns, so no delay can be chosen")
    delay_ns = min(DELAY_SHARE * max(costs), MOST_DELAY_S * 1e9)
    try:
        for number in range(ROUNDS):
            for thread in (0, *(thread.number for thread in threads)):
                window = delays.step(thread, delay_ns if thread else 0.0, ROUND_S)
                keep(_causal_line(window, number, thread, delay_ns))
    finally:
        delays.end()


def _causal_line(window: WindowLine, number: int, thread: int, delay_ns: float) -> DelayLine:
    sent, received = (sum(c.packets for c in window.channels if c.receives == receives) for receives in (False, True))
    return DelayLine(
        kind="causal",
        round=number,
        thread=thread,
        delay_ns=delay_ns if thread else 0.0,
        seconds=(window.end_ns - window.start_ns) / 1e9,
        packets=sent or received,
        missed=_missed(window),
    )


def run_headroom(delays: Delays, thread: Thread, keep: Callable[[DelayLine], None]) -> None:
    """Delays the thread more and more, until it hardly has an empty call and its bursts are half full, and stays there for some windows. Raises
    NotMeasured if packets are missed before, or if there is nothing to fill."""
    empty_ns = thread.empty_turn_ns
    if empty_ns is None or thread.saturated:
        why = "it is saturated" if thread.saturated else "no call without a packet was timed"
        raise NotMeasured(f"it has no idle time to fill: {why}")
    delay_ns, filled, lines = 0.0, 0, list[DelayLine]()
    try:
        for number in range(MOST_STEPS + FILLED_WINDOWS):
            window = delays.step(thread.number, delay_ns, STEP_S)
            line = _headroom_line(window, number, thread, delay_ns, empty_ns)
            keep(line)
            lines.append(line)
            if line.missed and number:
                raise NotMeasured(
                    f"a port missed packets at {delay_ns:.0f} ns more per packet: the load varies too much to fill it"
                )
            filled += _is_filled(line)
            if filled == FILLED_WINDOWS or not line.packets:
                return
            if not _is_filled(line):
                delay_ns += _growth_ns(lines)
            if delay_ns > MOST_DELAY_S * 1e9:
                raise NotMeasured(
                    "it has more room than a delay may fill: its load is below a thousandth of what it can carry"
                )
    finally:
        delays.end()


def _is_filled(line: DelayLine) -> bool:
    return bool(
        _burst(line) and line.idle is not None and line.idle <= FILLED and 2 * _burst(line) >= (line.asked or 0)
    )


def _burst(line: DelayLine) -> float:
    """Mean packets of a call that received some."""
    return line.packets / line.calls if line.calls else 0.0


def _growth_ns(lines: Sequence[DelayLine]) -> float:
    """By how much the delay may grow after these steps, so that no queue does: part of the idle time; without any, what doubles the burst."""
    last = lines[-1]
    apart_ns = last.seconds * 1e9 / last.packets
    if (last.idle or 0.0) > FILLED:
        return STEP_SHARE * (last.idle or 0.0) * apart_ns
    price = _line(lines)
    if price is None or price[0] <= 0:
        return FIRST_SHARE * apart_ns
    burst = _burst(last)
    next_burst = min(2 * burst, FULL_SHARE * (last.asked or 0))
    return min(max(price[0] * (1 / burst - 1 / next_burst), 0.0), FIRST_SHARE * apart_ns)


def _headroom_line(window: WindowLine, number: int, thread: Thread, delay_ns: float, empty_ns: float) -> DelayLine:
    channels = [c for c in window.channels_of.get(thread.number, ()) if c.receives]
    seconds = (window.end_ns - window.start_ns) / 1e9
    return DelayLine(
        kind="headroom",
        round=number,
        thread=thread.number,
        delay_ns=delay_ns,
        seconds=seconds,
        packets=sum(channel.packets for channel in channels),
        calls=sum(count for channel in channels for size, count in channel.bursts.items() if size),
        asked=thread.asked,
        idle=min(sum(channel.bursts.get(0, 0) for channel in channels) * empty_ns / (seconds * 1e9), 1.0),
        missed=_missed(window),
    )


def _missed(window: WindowLine) -> int:
    return sum(port.imissed or 0 for port in window.ports)


def slopes(lines: Sequence[DelayLine]) -> list[Slope]:
    """Of each thread that a causal experiment delayed."""
    causal = [line for line in lines if line.kind == "causal"]
    rounds = [
        [line for line in causal if line.round == number] for number in dict.fromkeys(line.round for line in causal)
    ]
    numbers = list(dict.fromkeys(line.thread for line in causal if line.thread))
    estimates = {n: jackknife(rounds, partial(_slope_in, thread=n)) for n in numbers}
    return [Slope(number, estimate) for number, estimate in estimates.items() if estimate is not None]


def _slope_in(rounds: Sequence[Sequence[DelayLine]], thread: int) -> float | None:
    with_delay, without = (
        [line for some in rounds for line in some if line.thread == number] for number in (thread, 0)
    )
    times = [
        ratio(sum(line.seconds for line in some) * 1e9, sum(line.packets for line in some))
        for some in (with_delay, without)
    ]
    if None in times or not with_delay or not with_delay[0].delay_ns:
        return None
    return ((times[0] or 0.0) - (times[1] or 0.0)) / with_delay[0].delay_ns


def capacity(lines: Sequence[DelayLine]) -> Estimate | None:
    """Packets a second that the thread carries at full bursts, by a headroom experiment; None: it was not filled."""
    steps = [line for line in lines if line.kind == "headroom"]
    return jackknife(steps, _capacity_in) if any(map(_is_filled, steps)) else None


def _capacity_in(lines: Sequence[DelayLine]) -> float | None:
    """Of steps with one burst size their mean: a line has no slope there, and needs none."""
    filled = [line for line in lines if _is_filled(line)]
    if not filled:
        return None
    line, asked = _line(lines), max(line.asked or 1 for line in filled)
    packet_ns = fmean(_point(step)[1] for step in filled) if line is None else line[0] / asked + line[1]
    return 1e9 / packet_ns if packet_ns > 0 else None


def _line(lines: Sequence[DelayLine]) -> tuple[float, float] | None:
    """Price of a burst and of a packet, ns, by least squares; None: the bursts of all steps are alike."""
    points = np.array([_point(line) for line in lines if line.packets and line.calls])
    if len(points) < LEAST_POINTS or np.ptp(points[:, 0]) < LEAST_RANGE * points[:, 0].mean():
        return None
    burst, packet = np.polyfit(points[:, 0], points[:, 1], 1)
    return float(burst), float(packet)


def _point(line: DelayLine) -> tuple[float, float]:
    """One over the burst, and what a packet took in it, ns."""
    return 1 / _burst(line), (1 - (line.idle or 0.0)) * line.seconds * 1e9 / line.packets - line.delay_ns


def is_steady(lines: Sequence[DelayLine]) -> bool:
    """Whether the load of a headroom experiment stayed within a tenth from step to step."""
    rates = [line.packets / line.seconds for line in lines if line.kind == "headroom"]
    return all(abs(b - a) <= 0.1 * max(a, b) for a, b in pairwise(rates))
