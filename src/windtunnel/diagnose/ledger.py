"""The ledger of a worker's nanoseconds: stages, waits and what is left over add up to the time of its windows.

Stages are timed in some loops alone. Their cycles, without what the clock adds, are scaled to all loops. What is then missing is the rest:
the error of a sample of loops, and what the host did between two calls. A rest far from 0 says that the parts cannot be trusted.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from windtunnel.diagnose.model import Interval, Ledger
from windtunnel.engine.lines import StageWindow, Window, WorkerWindow
from windtunnel.measure.validity import Estimate, clock_ticks, estimate, timed_loops


@dataclass
class Parts:
    """Ticks of one worker in one window."""

    cycles: float
    work: dict[str, float] = field(default_factory=dict)
    stall: float = 0.0
    idle: float = 0.0
    interrupted: float = 0.0
    traffic: float = 0.0
    clock: float = 0.0

    @property
    def rest(self) -> float:
        named = self.stall + self.idle + self.interrupted + self.traffic + self.clock
        return self.cycles - sum(self.work.values()) - named


@dataclass(frozen=True)
class Account:
    """One worker over windows."""

    engine: str
    worker: int
    parts: tuple[Parts, ...]
    """Of each window that had messages."""
    ns: tuple[float, ...]
    """Of each of these windows: what a tick is, in ns a message."""
    clock: float
    """Ticks by which a timed call takes longer."""

    def estimate(self, of: Callable[[Parts], float]) -> Estimate:
        """That part, ns a message."""
        return estimate([of(parts) * ns for parts, ns in zip(self.parts, self.ns, strict=True)])

    @property
    def ledger(self) -> Ledger:
        names = dict.fromkeys(name for parts in self.parts for name in parts.work)
        rest = self.estimate(lambda parts: parts.rest)
        return Ledger(
            engine=self.engine,
            worker=self.worker,
            window_ns=self.estimate(lambda parts: parts.cycles).mean,
            work={name: self.work(name).mean for name in names},
            stall=self.estimate(lambda parts: parts.stall).mean,
            idle=self.estimate(lambda parts: parts.idle).mean,
            interrupted=self.estimate(lambda parts: parts.interrupted).mean,
            traffic=self.estimate(lambda parts: parts.traffic).mean,
            clock=self.estimate(lambda parts: parts.clock).mean,
            rest=Interval.of(rest),
        )

    def work(self, stage: str) -> Estimate:
        """Of a stage, ns a message."""
        return self.estimate(lambda parts: parts.work.get(stage, 0.0))


def accounts(
    windows: Mapping[str, Sequence[Window]], messages: Sequence[int], tick_ns: Mapping[str, float]
) -> list[Account]:
    """One for each worker whose calls were timed. `messages`: of each window, which is the same moment of all engines. `tick_ns`: of each
    engine."""
    found = []
    for engine, of in windows.items():
        for worker in dict.fromkeys(each.worker for window in of for each in window.workers):
            timed = [_of_window(window, worker) for window in of]
            clock = clock_ticks(timed)
            rows = [
                (parts, tick_ns[engine] / count)
                for (worker_, stages), count in zip(timed, messages, strict=False)
                if count and (parts := parts_of(worker_, stages, clock))
            ]
            if rows:
                found.append(
                    Account(engine, worker, tuple(row[0] for row in rows), tuple(row[1] for row in rows), clock)
                )
    return found


def parts_of(worker: WorkerWindow, stages: Sequence[StageWindow], clock: float) -> Parts | None:
    """`clock`: ticks by which a timed call takes longer. None: no loop of the window was timed."""
    loops = timed_loops(stages)
    if not loops:
        return None
    scale = worker.loops / loops
    parts = Parts(cycles=worker.cycles)
    for stage in stages:
        empty = stage.timed_calls * stage.empty_calls / stage.calls if stage.calls else 0.0
        stalled = stage.timed_calls * stage.stalled_calls / stage.calls if stage.calls else 0.0
        name = f"{stage.endpoint} {stage.stage}"
        work = stage.busy_cycles - stage.stall_cycles - clock * (stage.timed_calls - empty - stalled)
        parts.work[name] = parts.work.get(name, 0.0) + work * scale
        parts.stall += (stage.stall_cycles - clock * stalled) * scale
        parts.idle += (stage.idle_cycles - clock * empty) * scale
        parts.interrupted += stage.interrupted_cycles * scale
        parts.traffic += stage.traffic_cycles * scale
        parts.clock += clock * stage.timed_calls
    return parts


def _of_window(window: Window, worker: int) -> tuple[WorkerWindow, list[StageWindow]]:
    (of_worker,) = (each for each in window.workers if each.worker == worker)
    return of_worker, [stage for stage in window.stages if stage.worker == worker]
