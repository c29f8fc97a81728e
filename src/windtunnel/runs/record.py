"""run.json: the record of one run.

History of the record's version:
1  first flight
2  second flight: as the plan and the lines that it holds
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from windtunnel.engine.lines import Error, Hello, Phase, Ready, Result
from windtunnel.engine.plan import Plan
from windtunnel.engine.planted import planted

RUN_VERSION = 2

DID_NOT_FINISH = "did not finish"


@dataclass(frozen=True)
class Verdict:
    """Whether the run's numbers may be used; `reasons` says why not and is empty for a valid run."""

    valid: bool
    reasons: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.valid == bool(self.reasons):
            raise ValueError(f"a verdict is valid without reasons or invalid with some, not {self}")


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class EngineRecord(Part):
    """One engine process of the run; null is what it did not live to say."""

    name: str
    plan: Plan
    phases: list[Phase] = Field(default_factory=list)
    hello: Hello | None = None
    ready: Ready | None = None
    result: Result | None = None
    error: Error | None = None

    @property
    def memory(self) -> str:
        """Memory mode, as the engine found it, else as planned: "hugepages" or "no-huge"."""
        return self.hello.memory if self.hello else self.plan.eal.memory


class Record(Part):
    """What run.json holds."""

    version: Literal[2] = RUN_VERSION
    title: str
    question: str | None
    started: AwareDatetime
    finished: AwareDatetime | None = None
    verdict: Verdict
    scenario: dict[str, Any] = Field(description="every key as resolved")
    notes: list[str] = Field(description="what a reader of the numbers must know")
    host: dict[str, Any]
    versions: dict[str, str]
    engines: list[EngineRecord] = Field(min_length=1)

    @property
    def memory(self) -> str:
        """Memory mode of the run; part of its identity, so that engines that differ are both named."""
        return " + ".join(sorted({engine.memory for engine in self.engines}))

    @property
    def wire(self) -> str:
        """Kinds of port that flew: "ring", "memif", ..."""
        return " + ".join(sorted({e.port.kind for engine in self.engines for e in engine.plan.endpoints}))

    @property
    def accounting(self) -> str:
        """Accounting level, as in "sampled, every 13th loop"."""
        level = self.engines[0].plan.accounting
        return f"{level.level}, 1 loop in {level.sample_every}" if level.level == "sampled" else level.level

    @property
    def emulated(self) -> list[str]:
        """The misbehaviour that was planted on the wire, in words; empty where there was none."""
        return planted(engine.plan for engine in self.engines)

    def all_notes(self) -> list[str]:
        """Notes of the scenario and of the engines, each once, in order; what is emulated stands in `emulated`."""
        notes = [*self.notes, *(note for engine in self.engines if engine.ready for note in engine.ready.notes)]
        return [note for note in dict.fromkeys(notes) if not note.startswith("emulated ")]
