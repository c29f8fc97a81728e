"""What a comparison found, as comparison.json holds it."""

from statistics import median
from typing import Any, Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from windtunnel.notebook import Shown

COMPARISON_VERSION: Final = 4

Verdict = Literal["faster", "slower", "no difference shown", "cannot tell", "cannot be compared", "invalid"]
NO_VERDICT = ("cannot tell", "cannot be compared", "invalid")

Change = Literal["window", "run"]
"""How often A and B alternate."""

Stopped = Literal["all run", "decided", "time", "interrupted", "failed", "states"]


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Run(Part):
    """One run that was compared."""

    side: Literal["a", "b"]
    path: str
    started: AwareDatetime | None
    place: int | None = Field(
        description="position of its values in the lists of a measure, if pairs have the same position; null: excluded"
    )
    reasons: list[str] = Field(
        description="why it is invalid: it was excluded, or its rejected metrics were included on request; empty: it is valid"
    )
    relaxed: list[str] = Field(description="validity limits that its scenario relaxed")


class Difference(Part):
    """A key in which the scenario of B differs from that of A."""

    key: str
    a: Any = Field(description="null: not set")
    b: Any = Field(description="null: not set")


class Interval(Part):
    """B against A."""

    method: Literal["paired", "unpaired", "assumed", "at any look"] = Field(
        description="paired: runs in turn; at any look: runs in turn that ended as soon as they decided; unpaired: runs in no order; "
        "assumed: too few runs, whose spread is an assumption"
    )
    a: float = Field(description="A by the estimate that the difference is of, in the unit of the measure")
    b: float = Field(description="B by the same estimate: b / a is the difference")
    percent: float = Field(description="difference in percent of A")
    low: float = Field(description="of the interval whose level the comparison names, percent of A")
    high: float
    joint_low: float = Field(
        description="of the interval that holds together with those of the same metric in all workloads and points, percent of A: what "
        "--fail-if decides by"
    )
    joint_high: float
    smallest: float = Field(description="smallest detectable difference in percent, with a power of 80%")
    effect: float | None = Field(
        description="chance that a run of B has a higher value than one of A (Vargha and Delaney's A); null: too few runs"
    )
    p: float = Field(description="chance of a difference as great as this or greater if there is none")
    p_corrected: float = Field(
        description="among all metrics that decide, of all workloads and points, or among all others: by the greatest statistic of "
        "all, from the pairs themselves; after Holm if there are fewer than eight pairs"
    )


class Measure(Part):
    """One metric of both sides."""

    workload: str = Field(description="empty: it belongs to the run")
    metric: str
    unit: Literal["/s", "ns"]
    better: Literal["higher", "lower"]
    a: list[float | None] = Field(description="of A's valid runs; if they were run in turn, a[i] with b[i]")
    b: list[float | None]
    interval: Interval | None
    unmeasured: str | None = Field(description="why there is no interval")
    beyond_a: int = Field(
        0, description="runs of A that lost so many messages that this percentile is beyond any response"
    )
    beyond_b: int = 0
    shown: bool = Field(description="whether the difference holds after correction")

    @property
    def middles(self) -> tuple[float | None, float | None]:
        """A and B as they stand beside the difference: by its estimate, else medians of the runs. None: not measured."""
        if self.interval:
            return self.interval.a, self.interval.b
        of_a, of_b = ([value for value in side if value is not None] for side in (self.a, self.b))
        return median(of_a) if of_a else None, median(of_b) if of_b else None


class InState(Part):
    """Runs of one state of the host. Those of the first state are compared."""

    state: str | None = Field(description="null: not known")
    a: int = Field(description="valid runs of A; in pairs as many as of B")
    b: int


class Unsettled(Part):
    """Runs of which the windows had a step or a trend. They are compared like the others."""

    a: int
    of_a: int = Field(description="runs of A of which it can be told")
    b: int
    of_b: int
    p: float = Field(
        description="chance of shares as different as these if there is no difference (Fisher's exact test)"
    )


class Judged(Part):
    """The verdict on one workload."""

    workload: str = Field(description="empty: the runs have none in common")
    verdict: Verdict
    reasons: list[str] = Field(description="of a verdict that is no comparison")
    decided_by: str | None = Field(description="metric")
    because: str | None = Field(description="why this one")


class Point(Part):
    """Runs of both sides with the same factors; of two single scenarios there is one, without factors."""

    factors: dict[str, Any]
    differences: list[Difference]
    runs: list[Run]
    in_turn: bool = Field(description="whether pairs are compared, which ran in turn")
    states: list[InState] = Field(description="empty: nothing was compared")
    dropped: int = Field(description="pairs whose runs were in two states, or in one that is not known")
    unsettled: Unsettled | None = Field(None, description="null: all settled, or that cannot be told of either side")
    judged: list[Judged]
    measures: list[Measure]


class Whole(Part):
    """One workload over all points that can be compared: the mean of their differences."""

    workload: str
    verdict: Verdict
    metric: str
    points: int
    interval: Interval


class PairedRuns(Part):
    """How the comparison made its runs, if it made them."""

    pairs_wanted: int
    pairs: int = Field(description="with two valid runs, in the state of the host that most pairs share")
    seed: int
    change: Change = Field(description="how often A and B alternated")
    until_decided: bool = Field(
        False,
        description="whether it was to end as soon as its conditions were decided: intervals hold at all looks together",
    )
    stopped: Stopped


class Comparison(Shown, Part):
    """What comparison.json holds: two sides, what differs between them, and what follows for each workload."""

    version: Literal[4] = COMPARISON_VERSION
    made: AwareDatetime
    windtunnel: str
    a: str
    b: str
    level: float = Field(description="of the tests; intervals are of 1 - level")
    between_runs: float = Field(
        description="assumed spread between runs, standard deviation of logarithms, if there are too few"
    )
    paired_runs: PairedRuns | None
    points: list[Point]
    whole: list[Whole]
    warnings: list[str]
