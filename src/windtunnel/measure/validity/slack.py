"""How much slack each worker has, and which one has least: the one that sets the pace.

A worker polls, so its CPU is always busy. It has slack while it waits, and while it keeps up:

- It waits in loops in which none of its stages moved anything: calls are empty for want of input, or stalled for want of an mbuf, of room
  in a ring, or of the port. No counter has these loops, but there are at most as many as the stage with the fewest empty and stalled calls
  has of them.
- It keeps up if its calls take less than they may: then they have taken all that there was. A worker that is too slow has a queue in
  front of it, and the stage behind the queue takes full batches.

A loop in which nothing moves can be shorter than what reading the clock adds to it. If all waits are of such loops, their time is not
known, but how often they occur is: then the timed loops decide with the clock left in, which adds as much to a call of either worker.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from windtunnel.engine.plan import Plan
from windtunnel.engine.windows import StageWindow, Window
from windtunnel.measure.validity.worker_time import Parts, clock_ticks, parts_of, timed_worker
from windtunnel.stats.mean import DECIDING, Estimate, mean_of


@dataclass(frozen=True)
class Slack:
    """One worker over the windows of a run."""

    engine: str
    worker: int
    cpu: int
    sides: str
    """"client", "server", or "client + server"."""
    shares: tuple[float, ...]
    """Share of the worker's time that was slack, in each window."""
    waits: tuple[float, ...]
    """Share of each window in which the worker waited."""
    rests: tuple[float, ...]
    """Share of each window's time that the timed loops do not account for; below 0 if they account for too much."""
    most: tuple[float, ...]
    """Share of each window in which it waited, with what reading the clock adds to it."""

    @property
    def is_known(self) -> bool:
        """Whether it has slack for sure: more than its ledger leaves open. If not, its share is noise."""
        low = mean_of([share + rest for share, rest in zip(self.shares, self.rests, strict=True)], DECIDING).low
        return low is not None and low > 0

    @property
    def text(self) -> str:
        """The slack as text: "12.0%", or "0.1% (1.0% with what reading the clock adds)"."""
        mean = f"{self.share.mean:.1%}"
        return mean if self.is_known else f"{mean} ({fmean(self.most):.1%} with what reading the clock adds)"

    @property
    def share(self) -> Estimate:
        return mean_of(self.shares)

    @property
    def waiting(self) -> Estimate:
        return mean_of(self.waits)

    @property
    def more_than_half(self) -> bool | None:
        """Whether more of its time is slack than not; None: these windows cannot tell."""
        share = self.share
        if share.low is None or share.high is None or share.low <= 0.5 <= share.high:
            return None
        return share.low > 0.5


def slacks(windows: Mapping[str, Sequence[Window]], plans: Mapping[str, Plan]) -> list[Slack]:
    """Slack of each worker of each engine, over these windows; without a worker whose calls were not timed in all of them."""
    all_slacks = []
    for engine, engine_windows in windows.items():
        for first in engine_windows[0].workers if engine_windows else ():
            timed = [timed_worker(window, first.worker) for window in engine_windows]
            clock = clock_ticks(timed)
            parts = [part for worker, stages in timed if (part := parts_of(worker, stages, clock))]
            if len(parts) < len(timed):
                continue
            waits = tuple(map(_waited, parts))
            most = tuple(_waited(part) for worker, stages in timed if (part := parts_of(worker, stages, 0.0)))
            queued = [
                _queued(window, stages, plans[engine])
                for window, (_, stages) in zip(engine_windows, timed, strict=True)
            ]
            shares = tuple(1 - (1 - waited) * full for waited, full in zip(waits, queued, strict=True))
            rests = tuple(part.rest / part.cycles for part in parts)
            sides = " + ".join(sorted({stage.endpoint for _, stages in timed for stage in stages}))
            all_slacks.append(Slack(engine, first.worker, first.cpu, sides, shares, waits, rests, most))
    return all_slacks


def slowest(all_slacks: Sequence[Slack]) -> list[Slack]:
    """The workers that have no more slack than another one, as far as these windows can tell; the one with the least comes first."""
    least = [
        slack for slack in all_slacks if not any(_has_more(slack, other) for other in all_slacks if other is not slack)
    ]
    return sorted(
        least or all_slacks, key=lambda slack: (slack.share.mean if slack.is_known else 0.0, fmean(slack.most))
    )


def _has_more(slack: Slack, other: Slack) -> bool:
    """Whether it has more slack than another one: the difference in the same windows, without and with what the ledgers do not account for,
    lies above 0; or, if the other one is not known to have any, that of their waits by their sum, with the clock left in. Each at 99.5%:
    together 99%."""
    known = zip(slack.shares, other.shares, slack.rests, other.rests, strict=False)
    if slack.share.mean > other.share.mean and _is_positive(
        [(a + rest_a) - (b + rest_b) for a, b, rest_a, rest_b in known]
    ):
        return True
    if other.is_known:
        return False
    return _is_positive([(a - b) / (a + b) if a + b else 0.0 for a, b in zip(slack.most, other.most, strict=False)])


def _is_positive(differences: Sequence[float]) -> bool:
    low = mean_of(differences, DECIDING).low
    return low is not None and low > 0


def _waited(parts: Parts) -> float:
    return min(max(parts.waited / parts.cycles, 0.0), 1.0)


def _queued(window: Window, stages: Sequence[StageWindow], plan: Plan) -> float:
    """Share of the objects that full batches moved, of the stage with the most. Messages that a client makes as soon as it may are no queue."""
    own_stage = ("client", "app_tx") if budget_is_reached(window, plan) else None
    return max((_full(stage, plan) for stage in stages if (stage.endpoint, stage.stage) != own_stage), default=0.0)


def budget_is_reached(window: Window, plan: Plan) -> bool:
    """Whether at the end of the window another batch of messages would have been too many in flight."""
    for endpoint in plan.endpoints:
        if endpoint.side == "client":
            budget = sum(application.inflight for application in endpoint.applications)
            return sum(workload.in_flight for workload in window.workloads) + endpoint.batch.app_tx > budget
    return False


FROM_A_RING = ("app_rx", "disp_tx")
"""Stages that can take no more than their ring holds."""


def _full(stage: StageWindow, plan: Plan) -> float:
    """Share of the stage's objects that full batches moved."""
    most = full_batch(plan, stage.endpoint, stage.stage)
    moved = sum(size * calls for size, calls in stage.burst.items())
    return sum(size * calls for size, calls in stage.burst.items() if size >= most) / moved if moved else 0.0


def full_batch(plan: Plan, side: str, stage: str) -> int:
    """The most that a call of the stage can take: its batch, or a ring full of it."""
    endpoint = next(endpoint for endpoint in plan.endpoints if endpoint.side == side)
    batch: int = getattr(endpoint.batch, stage)
    return min(batch, endpoint.ring_size - 1) if stage in FROM_A_RING else batch
