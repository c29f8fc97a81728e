"""The ledger of a worker's nanoseconds: stages, waits and what is left over add up to the time of its windows.

A rest whose interval does not hold 0 says that the parts cannot be trusted.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from windtunnel.engine.windows import Window
from windtunnel.measure.validity import Parts, clock_ticks, parts_of, timed_worker
from windtunnel.parts.diagnose.model import Interval, Ledger
from windtunnel.stats.mean import Estimate, mean_of


@dataclass(frozen=True)
class Account:
    """One worker over windows."""

    engine: str
    worker: int
    parts: tuple[Parts, ...]
    """The worker's parts in each window that had messages."""
    ns: tuple[float, ...]
    """What a tick is in each of these windows, in ns per message."""

    def estimate(self, part: Callable[[Parts], float]) -> Estimate:
        """The mean of a part over the windows, ns per message."""
        return mean_of([part(parts) * ns for parts, ns in zip(self.parts, self.ns, strict=True)])

    @property
    def stages(self) -> list[str]:
        """Names of the worker's stages, in their order."""
        return list(dict.fromkeys(stage.name for parts in self.parts for stage in parts.stages))

    @property
    def ledger(self) -> Ledger:
        return Ledger(
            engine=self.engine,
            worker=self.worker,
            window_ns=self.estimate(lambda parts: parts.cycles).mean,
            work={name: self.work(name).mean for name in self.stages},
            stall=self.estimate(lambda parts: sum(stage.stall for stage in parts.stages)).mean,
            idle=self.estimate(lambda parts: sum(stage.idle for stage in parts.stages)).mean,
            interrupted=self.estimate(lambda parts: parts.interrupted).mean,
            traffic=self.estimate(lambda parts: parts.traffic).mean,
            clock=self.estimate(lambda parts: parts.clock).mean,
            rest=Interval.from_estimate(self.estimate(lambda parts: parts.rest)),
        )

    def work(self, name: str) -> Estimate:
        """The work of a stage, ns per message."""
        return self.estimate(lambda parts: sum(stage.work for stage in parts.stages if stage.name == name))


def accounts(
    windows: Mapping[str, Sequence[Window]], messages: Sequence[int], tick_ns: Mapping[str, float]
) -> list[Account]:
    """One account for each worker whose calls were timed. `messages`: the count of each window, which is the same moment of all engines.
    `tick_ns`: the tick of each engine."""
    accounts_ = []
    for engine, engine_windows in windows.items():
        for number in dict.fromkeys(
            worker_window.worker for window in engine_windows for worker_window in window.workers
        ):
            timed = [timed_worker(window, number) for window in engine_windows]
            clock = clock_ticks(timed)
            rows = [
                (parts, tick_ns[engine] / count)
                for (worker, stages), count in zip(timed, messages, strict=False)
                if count and (parts := parts_of(worker, stages, clock))
            ]
            if rows:
                accounts_.append(Account(engine, number, tuple(row[0] for row in rows), tuple(row[1] for row in rows)))
    return accounts_
