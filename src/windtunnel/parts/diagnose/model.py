"""What a diagnosis says, as `--json` prints it."""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from windtunnel.engine.part_fields import with_fields_of_parts
from windtunnel.finding import Finding
from windtunnel.stats.mean import Estimate

DIAGNOSIS_VERSION: Final = 1
WIDEST: Final = 3.0
"""The ends of a predicted gain differ by no larger a factor."""
BOUNDLESS: Final = 1e6
"""Percent. JSON has no infinity."""

Kind = Literal["worker", "generator", "in-flight", "link", "offered load", "host", "tie", "unknown"]
Observable = Literal["run", "guest", "recorded"]
Confidence = Literal["high", "medium", "low"]


class Part(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)


class Interval(Part):
    """A mean over windows and its 95% interval."""

    mean: float
    low: float | None = Field(description="null, and `high`: too few windows")
    high: float | None

    @classmethod
    def from_estimate(cls, estimate: Estimate) -> "Interval":
        return cls(mean=estimate.mean, low=estimate.low, high=estimate.high)


class WorkerSeen(Part):
    """One worker, as the windows show it."""

    engine: str
    worker: int
    cpu: int
    sides: str = Field(description='"client", "server", or "client + server"')
    slack: Interval = Field(description="share of its time in which it waited, or took all that there was")
    stages: dict[str, float] = Field(
        description='"server app_rx" -> its share of the work of the worker, the greatest first'
    )


class Ledger(Part):
    """Where the time of one worker went, ns per message. The parts and the rest add up to the time of its windows."""

    engine: str
    worker: int
    window_ns: float = Field(description="time of the windows over the messages")
    work: dict[str, float] = Field(description='"server app_rx" -> ns')
    stall: float
    idle: float
    interrupted: float
    traffic: float = Field(description="spent by handlers that make their own traffic")
    clock: float = Field(description="what reading the clock adds to the loops that are timed")
    rest: Interval = Field(
        description="the error of a sample of loops, and what the host did between calls: what no part has"
    )


class Limit(Part):
    """What limits the rate."""

    kind: Kind
    workers: list[int] = Field(description="positions in the plan's workers; of a tie several; empty: no worker")
    engines: list[str] = Field(description="of each of these workers, its engine")
    stage: str | None = Field(description='the stage that takes most of the one worker\'s work, as in "server app_rx"')
    words: str
    evidence: list[str]


@dataclass(frozen=True)
class Gain:
    """What a remedy should add to the rate, in percent."""

    low: Annotated[float, Field(description="of the 95% interval, or the least that the case allows")]
    high: Annotated[float, Field(description="of the 95% interval, or the most that the case allows")]
    measured: Annotated[bool, Field(description="by an experiment that applied the remedy")] = False

    @property
    def basis(self) -> Literal["measured", "predicted", "bound"]:
        """A bound begins at nothing, or its ends differ by more than a factor of three: nobody can decide by it."""
        if self.measured:
            return "measured"
        return "predicted" if self.low > 0 and self.high <= WIDEST * self.low else "bound"

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2


@dataclass(frozen=True)
class Cause(Finding):
    """Why what limits does."""

    observable: Annotated[
        Observable,
        Field(description="run: in any run; guest: of a NIC, as a guest has one; recorded: by other tools alone"),
    ]
    against: Annotated[list[str], Field(description="what the evidence has against it")]
    not_measured: Annotated[list[str], Field(description="what this run cannot show of it")]
    sets: Annotated[list[str], Field(description="the remedy as words of --set; empty: none does it")]
    parts: Annotated[
        list[str],
        Field(description="codes of the causes that it takes together, as both sides of a tie; empty: it is one"),
    ]
    gain: Annotated[Gain | None, Field(description="null: one run cannot tell")]
    confidence: Annotated[
        Confidence | None,
        Field(
            description="the chance that a first cause with this kind of evidence is right, by planted faults: high from 80%, medium from 50%; if too few faults had it, high: "
            "the gain lies above 0, and one thing limits; medium: one of the two; low: no gain is known. low of an invalid run; "
            "null: recorded by other tools, and not tried on hardware"
        ),
    ]


class Slope(Part):
    """One stage of a worker was delayed, and the time of a message grew by as much, by a part of it, or not at all."""

    workers: list[int] = Field(description="positions in the plan's workers; several run the same stages")
    sides: str
    stage: str = Field(description='the stage that was delayed, as in "server app_rx"')
    delays_ns: list[float] = Field(description="a message, as counted")
    grew_ns: list[float] = Field(description="what the time of a message grew by, medians of pairs of windows")
    slope: Interval = Field(description="growth by delay; of workers alike times their number")
    slack_ns: Interval = Field(
        description="what a message could take longer at this worker before it takes longer at all"
    )
    implied_ns: Interval = Field(description="time of a message less that slack: what the worker needs for it")
    accounted_ns: float = Field(description="what its calls took of the time of a message: all but waiting")
    limits: bool | None = Field(description="whether it limits, alone or in a tie; null: these blocks cannot tell")


class Remedy(Part):
    """The remedy of a cause, run as a variant."""

    code: str = Field(description="of the cause")
    sets: list[str]
    gain: Interval = Field(description="of the rate, percent, by pairs of windows")

    @property
    def sentence(self) -> str:
        """As in "client.inflight=4096 changes the rate by +2.1% [+1.0 .. +3.2]"."""
        bounds = "" if self.gain.low is None else f" [{self.gain.low:+.1f} .. {self.gain.high:+.1f}]"
        return f"{' '.join(self.sets)} changes the rate by {self.gain.mean:+.1f}%{bounds}"


class Alone(Part):
    """What a worker's stages cost less while the others hold still."""

    engine: str
    worker: int = Field(description="position in the plan's workers; of those that run the same stages the first")
    sides: str
    took_ns: dict[str, float] = Field(description='"server app_rx" -> ns per message, as the file says')
    saved_ns: dict[str, Interval] = Field(description="of these, with 99% intervals; without stages whose batches grew")


class Experiment(Part):
    """Experiments in one run that changed between its windows."""

    blocks: int = Field(description="of windows, in each of which every variant ran once")
    ns_a_message: float = Field(description="as the file says, median")
    slopes: list[Slope]
    remedies: list[Remedy] = Field(description="within the run, and in turns with the file")
    alone: list[Alone] = Field([], description="one for each kind of worker, if there are several")
    limit: Limit


class Tried(Part):
    """The remedy of a cause, run in turns with the file (`compare`)."""

    code: str = Field(description="of the cause")
    sets: list[str]
    predicted: Gain | None
    metric: str | None = Field(None, description="by which the runs were judged")
    percent: float | None = Field(None, description="change of that metric; null: no difference could be computed")
    low: float | None = None
    high: float | None = None
    verdict: str = Field(
        description='of the comparison, as in "faster"; "refused: ..." if the scenario cannot run with the change'
    )
    directory: str | None = Field(None, description="of the runs and comparison.json")
    interrupted: bool = Field(False, description="the user ended its runs, and no further remedy was run")


@dataclass(frozen=True)
class OwnDiagnosis:
    """What a part says of a run that is its own, as an observation of another program."""

    windows: int
    limit: Limit
    causes: list[Cause]
    not_measured: list[str]


@with_fields_of_parts("diagnosis")
class Diagnosis(Part):
    """One run, or one scenario that was run for it."""

    version: Literal[1] = DIAGNOSIS_VERSION
    run: str
    verdict: str = Field(description='"valid", "valid, limits relaxed", "invalid", or "imported"')
    state: str | None = Field(description="of the host: that of the windows that are used; null: not known")
    windows: int = Field(description="that are used")
    limit: Limit
    workers: list[WorkerSeen]
    ledgers: list[Ledger]
    causes: list[Cause] = Field(description="that with the greatest gain first; without a known gain last")
    chance: float | None = Field(
        None,
        description="that the first cause is the right one: the share of planted faults with the same kind of evidence whose first cause was; null: no cause, "
        "too few such faults, or an invalid run",
    )
    experiment: Experiment | None = Field(None, description="with --probe")
    not_measured: list[str] = Field(description="what could not be looked at, and why")
    tried: list[Tried] | None = Field(None, description="with --try")

    @property
    def conclusion(self) -> Limit:
        """What limits: by experiment if it could tell, else from the counters."""
        return self.experiment.limit if self.experiment and self.experiment.limit.kind != "unknown" else self.limit
