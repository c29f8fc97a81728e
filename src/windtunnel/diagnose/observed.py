"""What a diagnosis reads of a run: the windows that its metrics use, without what was planted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from windtunnel.diagnose import planted
from windtunnel.diagnose.ledger import ledgers
from windtunnel.diagnose.model import Ledger
from windtunnel.engine.lines import Window
from windtunnel.engine.plan import Plan
from windtunnel.measure.validity import Slack, slacks
from windtunnel.runs import EngineRecord, Run
from windtunnel.runs.metrics import measured
from windtunnel.runs.summary import Summary, summarise


@dataclass(frozen=True)
class Observed:
    """One run. All of its engines measure the same windows at the same time."""

    run: Run

    @cached_property
    def windows(self) -> Mapping[str, list[Window]]:
        return {name: measured(of) for name, of in self.run.counted.items()}

    @cached_property
    def count(self) -> int:
        """Windows that are used."""
        return min((len(of) for of in self.windows.values()), default=0)

    @cached_property
    def summary(self) -> Summary:
        return summarise(self.run)

    @cached_property
    def slacks(self) -> list[Slack]:
        return slacks(self.windows)

    @cached_property
    def messages(self) -> list[int]:
        """Of each window: responses, or, where no client of ours runs, the packets that the ports received."""
        every = [[of[n] for of in self.windows.values()] for n in range(self.count)]
        responses = [sum(w.responses for window in windows for w in window.workloads) for windows in every]
        packets = [sum(port.rx_packets for window in windows for port in window.ports) for windows in every]
        return responses if self.has_client else packets

    @cached_property
    def ledgers(self) -> list[Ledger]:
        known = [engine for engine in self.run.record.engines if engine.hello and engine.ready]
        ticks = {e.name: (1e9 / e.hello.tsc_hz, e.ready.stamp_ticks) for e in known if e.hello and e.ready}
        return ledgers({e.name: self.windows[e.name] for e in known}, self.messages, ticks)

    @property
    def has_client(self) -> bool:
        return any(workload.load for plan in self.plans for workload in plan.workloads)

    @property
    def is_open_loop(self) -> bool:
        """Whether any workload is sent at a rate."""
        return any(w.load and w.load.mode == "open" for plan in self.plans for w in plan.workloads)

    @property
    def plans(self) -> Sequence[Plan]:
        return [engine.plan for engine in self.run.record.engines]

    def engine(self, name: str) -> EngineRecord:
        return next(engine for engine in self.run.record.engines if engine.name == name)

    def stages_of(self, engine: str, worker: int) -> dict[str, float]:
        """ "server app_rx" -> share of the worker's timed work, the greatest first."""
        work: dict[str, float] = {}
        for window in self.windows[engine]:
            for stage in window.stages:
                if stage.worker == worker:
                    name = f"{stage.endpoint} {stage.stage}"
                    work[name] = work.get(name, 0.0) + stage.busy_cycles - stage.stall_cycles
        total = sum(work.values())
        return {name: ticks / total for name, ticks in sorted(work.items(), key=lambda one: -one[1])} if total else {}


def observe(run: Run) -> Observed:
    """A run as a diagnosis may see it."""
    return Observed(planted.without(run))
