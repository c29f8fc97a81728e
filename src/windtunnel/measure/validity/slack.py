"""How much slack each worker has, and which one has least: the one that sets the pace.

A worker polls, so its CPU is always busy. It has slack while it waits, and while it keeps up:

- It waits in loops in which none of its stages moved anything: calls are empty for want of input, or stalled for want of an mbuf, of room
  in a ring, or of the port. No counter has these loops, but there are at most as many as the stage with the fewest empty and stalled calls
  has of them.
- It keeps up where its calls take less than they may: then they have taken all that there was. A worker that is too slow has a queue in
  front of it, and the stage behind the queue takes full batches.

Waiting is timed in some loops alone, and there a loop takes longer: the clock is read, and the CPU cannot overlap two stages. How much
longer shows from the loops that were not timed. It is taken off: an empty loop would otherwise seem several times as long as it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from windtunnel.engine.lines import StageWindow, Window, WorkerWindow
from windtunnel.engine.plan import Plan
from windtunnel.measure.validity.steady import Estimate, estimate


@dataclass(frozen=True)
class Slack:
    """One worker over the windows of a run."""

    engine: str
    worker: int
    cpu: int
    sides: str
    """As in a WorkerRow: "client", "server", or "client + server"."""
    shares: tuple[float, ...]
    """Of each window: the share of the worker's time that was slack."""
    waits: tuple[float, ...]
    """Of each window: the part of it in which the worker waited."""
    rests: tuple[float, ...]
    """Of each window: the share of the time that the timed loops do not account for; below 0 where they account for too much."""

    @property
    def share(self) -> Estimate:
        return estimate(self.shares)

    @property
    def waiting(self) -> Estimate:
        return estimate(self.waits)

    @property
    def more_than_half(self) -> bool | None:
        """Whether more of its time is slack than not; None: these windows cannot tell."""
        share = self.share
        if share.low is None or share.high is None or share.low <= 0.5 <= share.high:
            return None
        return share.low > 0.5


def slacks(windows: Mapping[str, Sequence[Window]], plans: Mapping[str, Plan]) -> list[Slack]:
    """Of each worker of each engine, over these windows; without a worker whose calls were not timed in all of them."""
    found = []
    for engine, of in windows.items():
        for first in of[0].workers if of else ():
            timed = [_of_window(window, first.worker) for window in of]
            if all(worker.timed_cycles and stages for worker, stages in timed):
                clock = clock_ticks(timed)
                waits = tuple(_waits(worker, stages, clock) for worker, stages in timed)
                queued = (max(_full(stage, plans[engine]) for stage in stages) for _, stages in timed)
                shares = tuple(1 - (1 - waited) * full for waited, full in zip(waits, queued, strict=True))
                sides = " + ".join(dict.fromkeys(stage.endpoint for _, stages in timed for stage in stages))
                rests = tuple(_rest(worker, stages, clock) for worker, stages in timed)
                found.append(Slack(engine, first.worker, first.cpu, sides, shares, waits, rests))
    return found


def slowest(found: Sequence[Slack]) -> list[Slack]:
    """The worker with the least slack, and after it those whose slack these windows cannot tell from it: the difference of the two in
    the same windows, with what their ledgers do not account for, has an interval that holds 0, or none."""
    if not found:
        return []
    least = min(found, key=lambda slack: slack.share.mean)
    return [least, *(other for other in found if other is not least and not _has_more(other, least))]


def clock_ticks(timed: Sequence[tuple[WorkerWindow, Sequence[StageWindow]]]) -> float:
    """Ticks by which a call takes longer in a timed loop of this worker than in another one: the median over windows. 0 where all
    loops were timed: it is then a part of what every call takes."""
    longer = []
    for worker, stages in timed:
        loops = timed_loops(stages)
        others = worker.loops - loops
        if loops and others > 0:
            interrupted = sum(stage.interrupted_cycles for stage in stages)
            without = (worker.cycles - worker.timed_cycles) / others
            longer.append(((worker.timed_cycles - interrupted) / loops - without) / len(stages))
    return max(median(longer), 0.0) if longer else 0.0


def timed_loops(stages: Sequence[StageWindow]) -> int:
    """Of one worker in one window: each has one call of each stage."""
    return max((stage.timed_calls + stage.interrupted_calls for stage in stages), default=0)


def in_vain(stage: StageWindow) -> float:
    """Share of the stage's calls that moved nothing: empty or stalled."""
    return (stage.empty_calls + stage.stalled_calls) / stage.calls if stage.calls else 1.0


def _has_more(other: Slack, least: Slack) -> bool:
    known = zip(least.shares, other.shares, least.rests, other.rests, strict=False)
    low = estimate([(b + rest_b) - (a + rest_a) for a, b, rest_a, rest_b in known]).low
    return low is not None and low > 0


def _of_window(window: Window, worker: int) -> tuple[WorkerWindow, list[StageWindow]]:
    (of_worker,) = (each for each in window.workers if each.worker == worker)
    return of_worker, [stage for stage in window.stages if stage.worker == worker and stage.calls]


def _waits(worker: WorkerWindow, stages: Sequence[StageWindow], clock: float) -> float:
    """Share of the time."""
    least = min(in_vain(stage) for stage in stages)
    waited = sum(_waited(stage, clock) * least / in_vain(stage) for stage in stages if in_vain(stage))
    return min(waited * worker.loops / timed_loops(stages) / worker.cycles, 1.0)


def _rest(worker: WorkerWindow, stages: Sequence[StageWindow], clock: float) -> float:
    timed = sum(s.busy_cycles + s.idle_cycles + s.interrupted_cycles + s.traffic_cycles for s in stages)
    added = clock * sum(stage.timed_calls for stage in stages)
    return 1 - ((timed - added) * worker.loops / timed_loops(stages) + added) / worker.cycles


def _waited(stage: StageWindow, clock: float) -> float:
    """Ticks of its timed calls that moved nothing, as long as they take without the clock."""
    return max(stage.idle_cycles + stage.stall_cycles - clock * stage.timed_calls * in_vain(stage), 0.0)


def _full(stage: StageWindow, plan: Plan) -> float:
    """Share of the stage's objects that full batches moved."""
    batch = next(endpoint.batch for endpoint in plan.endpoints if endpoint.side == stage.endpoint)
    most = getattr(batch, stage.stage)
    moved = sum(size * calls for size, calls in stage.burst.items())
    return sum(size * calls for size, calls in stage.burst.items() if size >= most) / moved if moved else 0.0
