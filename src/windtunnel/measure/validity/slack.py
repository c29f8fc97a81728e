"""How long each worker waits, and which one waits least: the one that sets the pace.

A worker polls. Where it waits for something to do its calls are empty, where it waits for an mbuf, for room in a ring or for the port
they are stalled. It waits in loops in which none of its stages moved anything. No counter has these loops, but there are at most as
many as the stage with the fewest empty and stalled calls has of them: so a worker one of whose stages always moves something has
no slack, although its other stages do find nothing now and then.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windtunnel.engine.lines import StageWindow, Window, WorkerWindow
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
    """Of each window: the share of the worker's time in which it waited."""

    @property
    def share(self) -> Estimate:
        return estimate(self.shares)

    @property
    def waits_more_than_it_works(self) -> bool | None:
        """None: these windows cannot tell."""
        share = self.share
        if share.low is None or share.high is None or share.low <= 0.5 <= share.high:
            return None
        return share.low > 0.5


def slacks(windows: Mapping[str, Sequence[Window]]) -> list[Slack]:
    """Of each worker of each engine, over these windows; without a worker whose calls were not timed in all of them."""
    found = []
    for engine, of in windows.items():
        for first in of[0].workers if of else ():
            of_worker = [_of_window(window, first.worker) for window in of]
            shares = [_share(worker, stages) for worker, stages in of_worker]
            known = [share for share in shares if share is not None]
            if len(known) == len(shares):
                sides = dict.fromkeys(stage.endpoint for _, stages in of_worker for stage in stages)
                found.append(Slack(engine, first.worker, first.cpu, " + ".join(sides), tuple(known)))
    return found


def slowest(found: Sequence[Slack]) -> list[Slack]:
    """The worker with the least slack, and after it those whose slack these windows cannot tell from it: the difference of the two in
    the same windows has an interval that holds 0, or none."""
    if not found:
        return []
    least = min(found, key=lambda slack: slack.share.mean)
    return [least, *(other for other in found if other is not least and not _waits_longer(other, least))]


def _waits_longer(other: Slack, least: Slack) -> bool:
    differences = [b - a for a, b in zip(least.shares, other.shares, strict=False)]
    low = estimate(differences).low
    return low is not None and low > 0


def _of_window(window: Window, worker: int) -> tuple[WorkerWindow, list[StageWindow]]:
    (of_worker,) = (each for each in window.workers if each.worker == worker)
    return of_worker, [stage for stage in window.stages if stage.worker == worker and stage.calls]


def _share(worker: WorkerWindow, stages: Sequence[StageWindow]) -> float | None:
    """None: not timed."""
    if not worker.timed_cycles or not stages:
        return None
    in_vain = [(stage, (stage.empty_calls + stage.stalled_calls) / stage.calls) for stage in stages]
    least = min(share for _, share in in_vain)
    waited = sum((stage.idle_cycles + stage.stall_cycles) * least / share for stage, share in in_vain if share)
    return float(waited / worker.timed_cycles)
