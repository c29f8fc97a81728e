"""How much slack each worker has, and which one has least: the one that sets the pace.

A worker polls, so its CPU is always busy. It has slack while it waits, and while it keeps up:

- It waits in loops in which none of its stages moved anything: calls are empty for want of input, or stalled for want of an mbuf, of room
  in a ring, or of the port. No counter has these loops, but there are at most as many as the stage with the fewest empty and stalled calls
  has of them.
- It keeps up where its calls take less than they may: then they have taken all that there was. A worker that is too slow has a queue in
  front of it, and the stage behind the queue takes full batches.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windtunnel.engine.lines import StageWindow, Window
from windtunnel.engine.plan import Plan
from windtunnel.measure.validity.parts import Timed, clock_ticks, parts_of
from windtunnel.measure.validity.steady import T_995, Estimate, estimate


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
            clock = clock_ticks(timed)
            parts = [each for worker, stages in timed if (each := parts_of(worker, stages, clock))]
            if len(parts) < len(timed):
                continue
            waits = tuple(min(max(each.waited / each.cycles, 0.0), 1.0) for each in parts)
            queued = (max(_full(stage, plans[engine]) for stage in stages) for _, stages in timed)
            shares = tuple(1 - (1 - waited) * full for waited, full in zip(waits, queued, strict=True))
            rests = tuple(each.rest / each.cycles for each in parts)
            sides = " + ".join(dict.fromkeys(stage.endpoint for _, stages in timed for stage in stages))
            found.append(Slack(engine, first.worker, first.cpu, sides, shares, waits, rests))
    return found


def slowest(found: Sequence[Slack]) -> list[Slack]:
    """The worker with the least slack, and after it those whose slack these windows cannot tell from it: the difference of the two in
    the same windows, with what their ledgers do not account for, has a 99% interval that holds 0, or none."""
    if not found:
        return []
    least = min(found, key=lambda slack: slack.share.mean)
    return [least, *(other for other in found if other is not least and not _has_more(other, least))]


def _has_more(other: Slack, least: Slack) -> bool:
    known = zip(least.shares, other.shares, least.rests, other.rests, strict=False)
    low = estimate([(b + rest_b) - (a + rest_a) for a, b, rest_a, rest_b in known], T_995).low
    return low is not None and low > 0


def _of_window(window: Window, worker: int) -> Timed:
    (of_worker,) = (each for each in window.workers if each.worker == worker)
    return of_worker, [stage for stage in window.stages if stage.worker == worker and stage.calls]


def _full(stage: StageWindow, plan: Plan) -> float:
    """Share of the stage's objects that full batches moved."""
    batch = next(endpoint.batch for endpoint in plan.endpoints if endpoint.side == stage.endpoint)
    most = getattr(batch, stage.stage)
    moved = sum(size * calls for size, calls in stage.burst.items())
    return sum(size * calls for size, calls in stage.burst.items() if size >= most) / moved if moved else 0.0
