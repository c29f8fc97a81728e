"""A flight: a scenario that is ready to fly on one host."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from windtunnel.engine.plan import Plan, Side
from windtunnel.engine.planted import planted
from windtunnel.scenario.demand import Demand
from windtunnel.scenario.keys import Scenario


@dataclass(frozen=True)
class Flight:
    """Plans for the engines, and what people want to read about them."""

    scenario: Scenario
    question: str
    """The file's opening comment line."""
    title: str
    plans: list[Plan]
    """One a process: one, or on memif two with the server's first. `record` is a bare name until `into`."""
    names: list[str]
    """Of the engines: "windtunnel", or "server" and "client"."""
    notes: list[str]
    """What a reader of the numbers must know about this placement."""
    resolved: dict[str, Any]
    """Every key with the value that flies, as JSON has it; without its nulls a scenario again."""
    demands: dict[Side, Demand]
    """mbufs of each endpoint's pool."""

    @property
    def emulated(self) -> list[str]:
        """The misbehaviour that is planted on the wire, in words."""
        return planted(self.plans)

    def into(self, directory: Path) -> "Flight":
        """The same flight with its recordings in a run directory: the engine knows only absolute paths."""
        return replace(self, plans=[self._recording(n, directory) for n in range(len(self.plans))])

    def _recording(self, number: int, directory: Path) -> Plan:
        plan = self.plans[number]
        if plan.record is None:
            return plan
        name = plan.record if len(self.plans) == 1 else f"{self.names[number]}-{plan.record}"
        return plan.model_copy(update={"record": str(directory.absolute() / name)})
