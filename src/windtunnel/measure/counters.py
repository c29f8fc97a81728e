"""Counts events of the workers' threads while a run runs: a listener of the supervisor, which writes counters.jsonl.

Events are read when a window's line has come, on the thread of the supervisor: nothing is added to a worker's loop. The first line opens
them, so a run without warm-up has no count of its first window.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from windtunnel.engine.lines import AnyLine
from windtunnel.engine.supervisor import Listener
from windtunnel.engine.windows import Window, WorkerWindow
from windtunnel.errors import UserError
from windtunnel.host import perf_events, resctrl
from windtunnel.host.perf_events import Event, Reading, Refused
from windtunnel.runs.counters import FILE, Absent, Asked, Count
from windtunnel.runs.directories import Held
from windtunnel.runs.files import LineFile

MOST = 32
"""Most events at once; the kernel takes turns if a core has fewer counters."""


def parse(text: str) -> list[str]:
    """The events of `--counters`. Raises UserError with what would be right."""
    names = [name.strip() for name in text.split(",")]
    try:
        check(names)
    except UserError as error:
        raise UserError(f"--counters: {error.message}", remedy=error.remedy) from None
    return names


def check(names: Sequence[str]) -> None:
    """Raises UserError, with what would be right, if one of them is no event, or if they are too many."""
    if wrong := [name for name in names if not (name in resctrl.EVENTS or perf_events.known(name))]:
        raise UserError(
            f"{', '.join(repr(name) for name in wrong)}: no such event",
            remedy=f"of the kernel: {', '.join((*perf_events.EVENTS, perf_events.BLOCKED))}, or a raw one as in r01c2; of resctrl: "
            f"{', '.join(resctrl.EVENTS)}",
        )
    if len(set(names)) < len(names) or len(names) > MOST:
        raise UserError(f"{len(names)} events, {len(set(names))} different ones", remedy=f"each once, at most {MOST}")


class _Source(Protocol):
    """One event of one thread."""

    unit: str
    level: bool
    user_only: bool

    def take(self) -> tuple[int | None, Reading | None]:
        """What was counted since the last take, and of which time; for a level, its state. None: the counter was reset. Raises Refused."""


class _Perf:
    level = False

    def __init__(self, name: str, thread: int) -> None:
        self._event = Event(name, thread)
        self._before = self._event.read()
        self.unit = perf_events.UNITS.get(name, "")
        self.user_only = self._event.user_only
        self.close = self._event.close

    def take(self) -> tuple[int, Reading | None]:
        now = self._event.read()
        added, self._before = now.since(self._before), now
        return added.value, added


class _Resctrl:
    unit, user_only = "bytes", False

    def __init__(self, name: str, group: resctrl.Group) -> None:
        self._name, self._group = name, group
        self.level = resctrl.EVENTS[name].level
        self._before = group.read(name)

    def take(self) -> tuple[int | None, Reading | None]:
        now = self._group.read(self._name)
        before, self._before = self._before, now
        if self.level:
            return now, None
        return (now - before if now >= before else None), None  # how many bits it has the kernel does not say


@dataclass(frozen=True)
class _Counted:
    """One event of one worker."""

    engine: str
    worker: int
    cpu: int
    event: str
    source: _Source


class Counting:
    """Counts `events` of every worker into counters.jsonl. Close it when the run has ended."""

    def __init__(self, events: Sequence[str]) -> None:
        self._events = list(events)
        self._file: LineFile | None = None
        self._open: dict[tuple[str, int], list[_Counted]] = {}
        self._closing: list[Callable[[], None]] = []

    def into(self, directory: Held) -> Listener:
        """Counts into a run's directory: the listener of this run, which raises UserError if the disk does not take the counts."""

        def listen(name: str, line: AnyLine, raw: str) -> None:
            if isinstance(line, Window):
                with directory.named():
                    self._window(name, line, directory.place)

        return listen

    def _window(self, name: str, line: Window, place: Path) -> None:
        if self._file is None:
            self._file = LineFile(place / FILE)
            self._write(Asked(events=self._events))
        for worker in line.workers:
            key = (name, worker.worker)
            if key not in self._open:
                self._open[key] = self._opened(name, worker)
            else:
                self._open[key] = [event for event in self._open[key] if self._counts(event, line)]

    def close(self) -> None:
        """Closes the counters and the file."""
        for closing in self._closing:
            with suppress(OSError):  # of a thread that has ended
                closing()
        self._closing.clear()
        self._open.clear()
        if self._file:
            self._file.close()

    def _opened(self, engine: str, worker: WorkerWindow) -> list[_Counted]:
        opened, group = [], None
        for event in self._events:
            try:
                if worker.thread is None:
                    raise Refused("the engine does not say which thread the worker is")
                source: _Source
                if event in resctrl.EVENTS:
                    if group is None:
                        group = resctrl.Group(worker.thread)
                        self._closing.append(group.close)
                    source = _Resctrl(event, group)
                else:
                    source = perf = _Perf(event, worker.thread)
                    self._closing.append(perf.close)
                opened.append(_Counted(engine, worker.worker, worker.cpu, event, source))
            except Refused as refused:
                self._absent(engine, worker.worker, worker.cpu, event, refused)
        return opened

    def _counts(self, event: _Counted, window: Window) -> bool:
        """Writes what the window added; False if the event cannot be counted any more."""
        try:
            counted, time = event.source.take()
        except Refused as refused:
            self._absent(event.engine, event.worker, event.cpu, event.event, refused)
            return False
        self._write(
            Count(
                engine=event.engine,
                window=window.index,
                at_ns=window.end_ns,
                worker=event.worker,
                cpu=event.cpu,
                event=event.event,
                unit=event.source.unit,
                counted=counted,
                value=_scaled(counted, time),
                enabled_ns=time and time.enabled_ns,
                running_ns=time and time.running_ns,
                level=event.source.level,
                user_only=event.source.user_only,
            )
        )
        return True

    def _absent(self, engine: str, worker: int, cpu: int, event: str, refused: Refused) -> None:
        self._write(Absent(engine=engine, worker=worker, cpu=cpu, event=event, reason=str(refused)))

    def _write(self, line: Asked | Absent | Count) -> None:
        if self._file:
            self._file.append(line.model_dump_json() + "\n")


def _scaled(counted: int | None, time: Reading | None) -> float | None:
    """None: the event had no counter in this time."""
    if counted is None:
        return None
    if time is None or time.enabled_ns <= time.running_ns:
        return float(counted)
    return counted * time.enabled_ns / time.running_ns if time.running_ns else None
