"""A run: a scenario that is ready to run on one host."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from windtunnel.engine.emulated import emulated_in
from windtunnel.engine.plan import Plan, Trace
from windtunnel.engine.plan_values import Side
from windtunnel.scenario.cpu_map import CpuMap
from windtunnel.scenario.demand import Demand
from windtunnel.scenario.keys import Scenario


@dataclass(frozen=True)
class RunSpec:
    """Plans for the engines, and what people want to read about them."""

    scenario: Scenario
    question: str
    """The file's opening comment line."""
    title: str
    plans: list[Plan]
    """One a process: one, or on memif two with the server's first. `record` is a bare name until `into`."""
    names: list[str]
    """Names of the engines: "windtunnel", or "server" and "client"."""
    notes: list[str]
    """What a reader of the numbers must know about this placement."""
    resolved: dict[str, Any]
    """Every key with the value that runs, as JSON has it; without its nulls a scenario again."""
    demands: dict[Side, Demand]
    """mbufs of each endpoint's pool."""
    maps: list[CpuMap]
    """Where the workers are on each host, and why."""
    labels: dict[str, str] = field(default_factory=dict)
    """What the user marks the run with; it changes nothing."""
    testbed: str | None = None
    """Testbed on which it runs; None: this host."""

    @property
    def emulated(self) -> list[str]:
        """What is not real, in words: emulated faults of the wire, and what parts emulate."""
        return emulated_in(self.plans)

    def into(self, directory: Path) -> "RunSpec":
        """The same run with its recordings in a run directory: the engine knows only absolute paths."""
        return replace(self, plans=[self._recording(n, directory) for n in range(len(self.plans))])

    def traced(self, file: str, every: int, events: int) -> "RunSpec":
        """The same run with every Nth loop written down, at most so many events of all engines together."""
        trace = Trace(path=file, every=every, limit_events=max(1, events // len(self.plans)))
        plans = [plan.model_copy(update={"trace": trace}) for plan in self.plans]
        return replace(self, plans=plans, notes=[*self.notes, f"traced: 1 loop in {every} of every worker"])

    def _recording(self, number: int, directory: Path) -> Plan:
        plan, own = self.plans[number], "" if len(self.plans) == 1 else f"{self.names[number]}-"
        placed: dict[str, Any] = {}
        if plan.record is not None:
            placed["record"] = str(directory.absolute() / f"{own}{plan.record}")
        if plan.trace is not None:
            placed["trace"] = plan.trace.model_copy(
                update={"path": str(directory.absolute() / f"{own}{plan.trace.path}")}
            )
        return plan.model_copy(update=placed)
