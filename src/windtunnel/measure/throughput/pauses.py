"""Pauses of the host that may decide a trial: a worker had no CPU for longer than the queue in front of the data plane lasts, or than the
latency that is allowed.

What falls due while the client has no CPU leaves it in one burst afterwards. What arrives while a worker of the server has none waits.
Either may overflow a queue that the data plane does not fill at that load. Whether it did is not asked: if only trials that fail were left
out for a pause, those that pass in spite of one would count, and every rate would come out too high.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from windtunnel.engine.plan import Plan
from windtunnel.engine.windows import Window, WorkerWindow
from windtunnel.format import duration, percent
from windtunnel.measure.search import Goal
from windtunnel.runs import Run

PAUSE = "pause:"
"""How the reason begins."""
DECIDING = 0.1
"""Part of what a goal allows to be lost, or to be late, from which on pauses may decide it."""


@dataclass
class Patience:
    """Trials that a pause may have decided are left out, until there are so many in a row that hardly any would be left; then they count."""

    in_a_row: int
    given_up: bool = False
    paused: int = 0
    """Such trials so far."""
    _row: int = 0

    def excludes(self, paused: bool) -> bool:
        """Whether a trial is left out. `paused`: a pause may have decided it."""
        self.paused += paused
        self._row = self._row + 1 if paused else 0
        self.given_up |= self._row >= self.in_a_row
        return paused and not self.given_up


@dataclass(frozen=True)
class Pauses:
    """Pauses of one worker while it was measured; ns."""

    worker_text: str
    longest_ns: int
    all_ns: int


def deciding_pause(run: Run, load: float, goals: Sequence[Goal]) -> str | None:
    """Why pauses may decide a trial at `load` messages per second for one of the goals, as text; None if they cannot. No count of
    responses and no latency is read."""
    workers = [pauses for engine in run.record.engines for pauses in _pauses(engine.plan, run.windows[engine.name])]
    longest = max(workers, key=lambda worker: worker.longest_ns, default=None)
    measured_ns = _measured_ns(run)
    if longest is None or not measured_ns:
        return None
    queue = min(queue_in_front(engine.plan) for engine in run.record.engines)
    lasts_ns = queue / load * 1e9
    share = max(worker.all_ns for worker in workers) / measured_ns
    pause = f"{PAUSE} {longest.worker_text} had no CPU for {duration(longest.longest_ns)}"
    for goal in goals:
        if longest.longest_ns > lasts_ns and share > DECIDING * goal.loss_ratio:
            return f"{pause}; the queue of {queue} packets in front of the data plane lasts {duration(lasts_ns)} at this load"
        if goal.latency is None or longest.longest_ns <= goal.latency.limit_ns:
            continue
        if share > DECIDING * (1 - goal.latency.share):
            return f"{pause}; pauses were {percent(share)} of the time, and {goal.name} allows {percent(1 - goal.latency.share)} to be late"
    return None


def queue_in_front(plan: Plan) -> int:
    """Packets in the shortest queue that drops what it has no room for: of an emulated link, or a port's descriptors."""
    ports = [endpoint.port for endpoint in plan.endpoints]
    links = [port.link.queue for port in ports if port.link and port.link.bits_per_s]
    return min(links + [port.rx_descriptors for port in ports])


def _measured_ns(run: Run) -> int:
    windows = next(engine_windows for engine_windows in run.windows.values() if engine_windows)
    return sum(window.end_ns - window.start_ns for window in windows if window.phase == "measure")


def _pauses(plan: Plan, windows: Sequence[Window]) -> Iterator[Pauses]:
    measured = [window for window in windows if window.phase == "measure"]
    for number, worker in enumerate(plan.workers):
        worker_windows = [
            worker_window for window in measured for worker_window in window.workers if worker_window.worker == number
        ]
        all_ns = sum((worker_window.preempted_ns or 0) + worker_window.steal_ns for worker_window in worker_windows)
        yield Pauses(f"the worker on CPU {worker.cpu}", max(map(_longest_ns, worker_windows), default=0), all_ns)


def _longest_ns(worker: WorkerWindow) -> int:
    """The hypervisor does not say how long it took the CPU in a row, nor did earlier engines: all of it is one pause then."""
    preempted_ns = worker.preempted_ns if worker.longest_pause_ns is None else worker.longest_pause_ns
    return max(preempted_ns or 0, worker.steal_ns)
