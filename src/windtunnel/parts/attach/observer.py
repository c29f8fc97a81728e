"""Observes an application that has the probe in it: a lease that this process renews, and windows of what the probe counted."""

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from windtunnel import proc
from windtunnel.errors import UserError
from windtunnel.parts.attach import page as pages
from windtunnel.parts.attach.lines import ChannelLine, PhaseLine, PortLine, ThreadLine, TurnsLine, WindowLine
from windtunnel.parts.attach.page import Channel, Page
from windtunnel.runs.observed import LEAST_TSC_HZ, MOST_TSC_HZ

LEASE_NS = 1_000_000_000
"""After this time without a renewal the probe leaves the application as it was."""
RENEWAL_S = 0.2
READY_S = 5.0
"""Longest wait for the probe's page and its state."""
LEFT_S = 2.0
"""Longest wait until the functions of all ports are the driver's again."""
LEAST_INTERRUPTED_US, INTERRUPTED_TURNS = 50, 8
"""A timed turn was interrupted if it lasts longer than both: this time, and so many turns of the slowest thread."""
MOST_PREEMPTED = 0.01
"""Share of a window for which a thread of the data path may be preempted, as `validity.max_preempted`."""


@dataclass(frozen=True)
class Presence:
    """How much of the probe is in the application, and how often."""

    modes: int = pages.COUNTS | pages.TIMED | pages.SIZED | pages.LATENCY | pages.STATISTICS_READ
    on_us: int = 5_000
    period_us: int = 100_000
    timed_every: int = 64


@contextmanager
def opened(pid: int) -> Iterator[Page]:
    """The page of a process that has the probe in it, ready. Raises UserError if the probe refuses this application."""
    deadline = time.monotonic() + READY_S
    while (path := pages.descriptor_of(pid)) is None:
        if time.monotonic() > deadline or not alive(pid):
            raise UserError(f"process {pid} has no page of the probe", remedy="windtunnel attach --list")
        time.sleep(0.01)
    with Page(path) as page:
        while page.head.state == pages.STARTING and time.monotonic() < deadline:
            time.sleep(0.01)
        if page.head.state == pages.REFUSED:
            why = page.head.refusal.decode(errors="replace")
            raise UserError(
                f"the probe refuses this application: {why}",
                remedy="--telemetry asks the application's own telemetry, and loads nothing",
            )
        yield page


def alive(pid: int) -> bool:
    """Whether the process is there and no zombie."""
    try:
        return proc.text(f"/proc/{pid}/stat").rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False


@contextmanager
def believable() -> Iterator[None]:
    """The page is the application's to write. What no application can have counted, so that a record refuses it, is a UserError."""
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UserError(
            f"the probe's page says what cannot be: {'.'.join(map(str, first['loc']))}: {first['msg']}",
            remedy="start the application again",
        ) from None


@contextmanager
def leased(page: Page, presence: Presence) -> Iterator[None]:
    """The probe is present as asked for within; afterwards the application is as before."""
    control = page.control
    control.modes, control.timed_every = presence.modes, presence.timed_every
    control.on_us, control.period_us = presence.on_us, presence.period_us
    control.delay_thread = control.delay_ticks = control.fill_ticks = 0
    control.interrupted_us = LEAST_INTERRUPTED_US
    control.observer, control.observer_start = os.getpid() << 32 | 1, _started(os.getpid())
    ended = threading.Event()

    def renew() -> None:
        while not ended.is_set():
            control.lease_until_ns = time.monotonic_ns() + LEASE_NS
            ended.wait(RENEWAL_S)

    control.lease_until_ns = time.monotonic_ns() + LEASE_NS
    page.wake()
    renewing = threading.Thread(target=renew, name="wt-lease", daemon=True)
    renewing.start()
    try:
        yield
    finally:
        ended.set()
        renewing.join()
        control.lease_until_ns = control.modes = control.delay_thread = control.observer = 0
        page.wake()
        deadline = time.monotonic() + LEFT_S
        while any(port.wrapped for port in page.ports().values()) and time.monotonic() < deadline:
            time.sleep(0.002)


def _started(pid: int) -> int:
    return int(proc.text(f"/proc/{pid}/stat").rpartition(")")[2].split()[19])


class Observer:
    """Windows of one application under a lease."""

    def __init__(self, page: Page, pid: int):
        self.page, self.pid = page, pid
        self._first_clock = page.clock()
        self._begin = time.monotonic_ns()
        self._before = self._reading()
        self._index = 0

    def bound_turns(self, seconds: float) -> WindowLine:
        """Counts for a moment, and lets the probe take turns for interrupted that last much longer than the slowest thread's do. Until then
        LEAST_INTERRUPTED_US is the bound. Returns what happened in that moment."""
        time.sleep(seconds)
        line = self.window()
        calls = Counter[int]()
        for channel in line.channels:
            calls[channel.thread] += channel.calls if channel.receives else 0
        fewest = min((count for count in calls.values() if count), default=0)
        hz = self.tsc_hz
        if fewest and hz:
            turn_us = line.present_ticks / fewest / hz * 1e6
            self.page.control.interrupted_us = round(max(INTERRUPTED_TURNS * turn_us, LEAST_INTERRUPTED_US))
            self.page.wake()
        return line

    @property
    def tsc_hz(self) -> float | None:
        """The TSC's frequency, from two pairs of readings; None: less than 100 ms lie between them, or no TSC has it."""
        ticks, ns = (last - first for last, first in zip(self.page.clock(), self._first_clock, strict=True))
        hz = ticks / ns * 1e9 if ns > 100_000_000 else 0.0
        return hz if LEAST_TSC_HZ <= hz <= MOST_TSC_HZ else None

    def window(self) -> WindowLine:
        """What happened since the last one. Raises ProcessLookupError if the application has ended."""
        if not alive(self.pid):
            raise ProcessLookupError(self.pid)
        before, now = self._before, self._reading()
        self._before = now
        with believable():
            line = self._line(before, now)
        self._index += 1
        return line

    def _line(self, before: "_Reading", now: "_Reading") -> WindowLine:
        length = now.at_ns - before.at_ns
        threads = [_thread(before.threads.get(thread), thread, facts) for thread, facts in now.threads.items()]
        return WindowLine(
            index=self._index,
            start_ns=before.at_ns - self._begin,
            end_ns=now.at_ns - self._begin,
            present_ticks=max(now.present_ticks - before.present_ticks, 0),
            channels=[_channel(before.channels.get(key), channel) for key, channel in now.channels.items()],
            ports=[_port(before.ports.get(number), number, port) for number, port in now.ports.items()],
            threads=threads,
            excluded=_excluded(threads, length),
        )

    def _reading(self) -> "_Reading":
        channels = {(c.thread, c.port, c.queue, c.direction): c for c in self.page.channels()}
        return _Reading(
            at_ns=time.monotonic_ns(),
            present_ticks=int(self.page.head.present_ticks),
            channels=channels,
            ports=self.page.ports(),
            threads={thread: facts for thread in {key[0] for key in channels} if (facts := _facts(self.pid, thread))},
        )


@dataclass(frozen=True)
class _Reading:
    """The page and the kernel's facts at one moment."""

    at_ns: int
    present_ticks: int
    channels: dict[tuple[int, int, int, int], Channel]
    ports: dict[int, Any]
    threads: dict[int, tuple[int, int | None, int | None]]


def _facts(pid: int, thread: int) -> tuple[int, int | None, int | None] | None:
    """CPU, and ns on it and waiting for it, of a thread; None: it has ended."""
    try:
        cpu = int(proc.text(f"/proc/{pid}/task/{thread}/stat").rpartition(")")[2].split()[36])
    except (OSError, IndexError):
        return None
    with suppress(OSError, ValueError):
        on_cpu, waiting, _ = proc.text(f"/proc/{pid}/task/{thread}/schedstat").split()
        return cpu, int(on_cpu), int(waiting)
    return cpu, None, None


def _thread(
    before: tuple[int, int | None, int | None] | None, thread: int, now: tuple[int, int | None, int | None]
) -> ThreadLine:
    cpu, on_cpu, waiting = now
    _, on_cpu_before, waiting_before = before or (cpu, None, None)
    return ThreadLine(
        thread=thread, cpu=cpu, on_cpu_ns=_grown(on_cpu, on_cpu_before), preempted_ns=_grown(waiting, waiting_before)
    )


def _grown(now: int | None, before: int | None) -> int | None:
    return None if now is None or before is None else max(now - before, 0)


def _excluded(threads: Sequence[ThreadLine], length_ns: int) -> str | None:
    """By what the host did, never by what was measured."""
    for thread in threads:
        if (thread.preempted_ns or 0) > MOST_PREEMPTED * length_ns:
            return (
                f"thread {thread.thread} was preempted for {(thread.preempted_ns or 0) / length_ns:.1%} of the window"
            )
    return None


def _channel(before: Channel | None, now: Channel) -> ChannelLine:
    """A channel with fewer calls than before was given to another thread of the same number."""
    before = Channel() if before is None or before.calls > now.calls else before

    def grown(name: str) -> int:
        return int(getattr(now, name) - getattr(before, name))

    def grown_bins(name: str) -> dict[int, int]:
        pairs = zip(getattr(before, name), getattr(now, name), strict=True)
        return {number: last - first for number, (first, last) in enumerate(pairs) if last > first}

    timed = [
        TurnsLine(packets=number, **{name: getattr(now.timed[number], name) - getattr(before.timed[number], name) for name in _TURNS})
        for number in range(pages.BURSTS)
        if now.timed[number].turns > before.timed[number].turns
    ]  # fmt: skip
    return ChannelLine(
        thread=now.thread,
        lcore=None if now.lcore == 0xFFFF else now.lcore,
        port=now.port,
        queue=now.queue,
        receives=now.direction == pages.RX,
        asked=now.asked,
        bursts=grown_bins("bursts"),
        timed=timed,
        delays=grown_bins("delays"),
        **{name: grown(name) for name in _COUNTERS},
    )


_TURNS = ("turns", "rx_ticks", "application_ticks", "tx_ticks")
_COUNTERS = (
    "calls", "packets", "refused", "interrupted_turns", "interrupted_ticks", "sized_packets", "sized_bytes", "delays_lost", "delayed_ticks",
)  # fmt: skip


def _port(before: Any, number: int, now: Any) -> PortLine:
    """Statistics that are smaller than before were set back by the application: they are not known in this window."""
    never_falls = ("stats_at", *pages.STATISTICS)
    known = before is not None and before.stats_at and all(getattr(now, s) >= getattr(before, s) for s in never_falls)
    statistics = {name: getattr(now, name) - getattr(before, name) if known else None for name in pages.STATISTICS}
    phases = {name: _phase(getattr(before, name, None), getattr(now, name)) for name in ("present", "absent")}
    ticks = now.stats_at - before.stats_at if known else 0
    return PortLine(port=number, ticks=ticks, **statistics, **phases)


def _phase(before: Any, now: Any) -> PhaseLine:
    names = PhaseLine.model_fields
    return PhaseLine(**{name: max(getattr(now, name) - getattr(before, name, 0), 0) for name in names})
