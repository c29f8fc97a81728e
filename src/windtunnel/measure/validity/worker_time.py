"""The parts of a worker's time in a window: what its stages worked, stalled and idled, and what reading the clock added.

Only some loops are timed, and they are not like the others: a timed loop takes longer, so that more often something has arrived for it.
Therefore work is scaled by the packets, idle time by the empty calls and stall by the stalled calls, not all of it by the loops. How much
longer a timed call takes (the clock is read, and the CPU cannot overlap two stages) is then what makes the parts add up to the time of
the window: the median over the windows of a run. It is taken off. What is left of a window's time is its rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from windtunnel.engine.windows import StageWindow, Window, WorkerWindow

Timed = tuple[WorkerWindow, Sequence[StageWindow]]
"""A worker in one window, and its stages."""


@dataclass(frozen=True)
class StageParts:
    """Ticks of one stage in all loops."""

    name: str
    """Endpoint and stage, as in "server app_rx"."""
    work: float
    stall: float
    idle: float
    in_vain: float
    """Share of its calls that moved nothing: empty or stalled."""


@dataclass(frozen=True)
class Parts:
    """Ticks of one worker."""

    cycles: float
    stages: tuple[StageParts, ...]
    interrupted: float
    traffic: float
    clock: float

    @property
    def rest(self) -> float:
        """Time that no part has; below 0 if the parts are more than the whole."""
        of_stages = sum(stage.work + stage.stall + stage.idle for stage in self.stages)
        return self.cycles - of_stages - self.interrupted - self.traffic - self.clock

    @property
    def waited(self) -> float:
        """Time in loops in which no stage moved anything. No counter has these loops, but there are at most as many as the stage with the
        fewest empty and stalled calls has of them."""
        least = min((stage.in_vain for stage in self.stages), default=0.0)
        return sum((stage.stall + stage.idle) * least / stage.in_vain for stage in self.stages if stage.in_vain)


def timed_worker(window: Window, worker: int) -> Timed:
    """A worker's row of a window with its stages, without those that were never called."""
    (part,) = (row for row in window.workers if row.worker == worker)
    return part, [stage for stage in window.stages if stage.worker == worker and stage.calls]


def clock_ticks(timed: Sequence[Timed]) -> float:
    """Ticks by which a timed call of this worker takes longer: the median over its windows. 0 if all loops were timed: it is then a
    part of what every call takes."""
    longer = []
    for worker, stages in timed:
        others = sum(stage.calls - stage.timed_calls - stage.interrupted_calls for stage in stages)
        without = parts_of(worker, stages, 0.0)
        if others > 0 and without:
            longer.append(-without.rest / others)
    return max(median(longer), 0.0) if longer else 0.0


def parts_of(worker: WorkerWindow, stages: Sequence[StageWindow], clock: float) -> Parts | None:
    """`clock`: ticks by which a timed call takes longer. None: no loop of the window was timed, or it had no time."""
    timed_loops = max((stage.timed_calls + stage.interrupted_calls for stage in stages), default=0)
    if not timed_loops or not worker.cycles:
        return None
    loops = worker.loops / timed_loops
    return Parts(
        cycles=worker.cycles,
        stages=tuple(_stage(stage, clock, loops) for stage in stages),
        interrupted=loops * sum(stage.interrupted_cycles for stage in stages),
        traffic=loops * sum(stage.traffic_cycles for stage in stages),
        clock=clock * sum(stage.timed_calls for stage in stages),
    )


def _stage(stage: StageWindow, clock: float, loops: float) -> StageParts:
    with_work = stage.calls - stage.empty_calls - stage.stalled_calls
    timed_work = stage.timed_objects * with_work / stage.objects if stage.objects else 0.0
    timed_stalled = stage.timed_calls * stage.stalled_calls / stage.calls if stage.calls else 0.0
    timed_empty = max(stage.timed_calls - timed_work - timed_stalled, 0.0)

    def whole(ticks: float, timed: float, calls: float) -> float:
        return (ticks - clock * timed) * (calls / timed if timed else loops)

    return StageParts(
        name=f"{stage.endpoint} {stage.stage}",
        work=whole(stage.busy_cycles - stage.stall_cycles, timed_work, with_work),
        stall=whole(stage.stall_cycles, timed_stalled, stage.stalled_calls),
        idle=whole(stage.idle_cycles, timed_empty, stage.empty_calls),
        in_vain=(stage.empty_calls + stage.stalled_calls) / stage.calls if stage.calls else 1.0,
    )
