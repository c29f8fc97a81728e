"""What `windtunnel history --json` prints."""

from typing import Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from windtunnel.notebook import Shown

HISTORIES_VERSION: Final = 2

Kind = Literal["regression", "improvement"]


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class HistoryRun(Part):
    """One run of a history."""

    path: str
    started: AwareDatetime
    labels: dict[str, str]
    relaxed: list[str] = Field(description="validity limits that its scenario relaxed")


class ChangePoint(Part):
    """A run from which on a metric has another level."""

    run: int = Field(description="place of the first run behind the change, among the runs of the state")
    kind: Kind = Field(description="whether it is worse or better for this metric")
    percent: float = Field(description="the runs behind it, up to the next change point, against those before it")
    low: float = Field(description="of the interval whose level the histories name, percent")
    high: float
    later: bool = Field(
        description="whether the size is of runs after those that showed the change; false: it is likely too large, by those that showed it"
    )
    changed: list[str] = Field(description="labels and software that changed with this run, as text")
    persists: bool = Field(
        description="false: the last runs are back on the level before it, or on the other side of it"
    )


class Level(Part):
    """Runs between two change points."""

    first: int = Field(description="place of the first of its runs")
    last: int
    median: float


class AnotherDay(Part):
    """What a run on another day is expected to show, by the days of the last level."""

    days: int
    value: float
    low: float = Field(description="of the interval in which it lies with a chance of 95%")
    high: float


class Metric(Part):
    """One metric over the runs of a state."""

    workload: str = Field(description="empty: it belongs to the run")
    metric: str
    unit: Literal["/s", "ns"]
    better: Literal["higher", "lower"]
    decides: bool = Field(description="whether it is the metric that decides, as in `compare`")
    values: list[float | None] = Field(description="of each run of the state; null: not measured")
    absent: int = Field(description="newest runs of the state without a value")
    beyond: int = Field(
        description="newest runs of the state of which so many messages were lost that this percentile is beyond any response"
    )
    levels: list[Level] = Field(description="empty: not judged")
    changes: list[ChangePoint]
    detectable: float | None = Field(
        description="percent of the smallest step, in either direction, that the last 5 runs would have shown; null: not judged"
    )
    unjudged: str | None = Field(description="why there is no verdict")
    another_day: AnotherDay | None = Field(description="null: not judged, or the last level has fewer than three days")


class InState(Part):
    """The valid runs in one state of the host."""

    state: str | None = Field(description="null: not known")
    newest: bool = Field(description="whether the newest of all runs is among them")
    runs: list[HistoryRun]
    metrics: list[Metric]


class History(Part):
    """One scenario on one host."""

    key: str = Field(description="the same for all runs of this history")
    title: str
    host: str
    invalid: int = Field(description="runs that are left out because they are invalid")
    newest_invalid: int = Field(description="of these, the ones that began after every valid run")
    newest_left_out: int = Field(
        0,
        description="valid runs that are left out and began after every one that is judged: unplaced or without the label",
    )
    undated: int = Field(description="runs that are left out because it is not known when they began")
    unlabelled: int = Field(description="runs that are left out because they do not have the label")
    unplaced: int = Field(
        description="runs that are left out because their state of the host is not known, while that of others is"
    )
    states: list[InState] = Field(description="the one with the most runs first; no metric spans two of them")


class Histories(Shown, Part):
    """All histories that were asked for."""

    version: Literal[2] = HISTORIES_VERSION
    made: AwareDatetime
    windtunnel: str
    by: str | None = Field(description="label by whose versions runs are ordered; null: by time")
    level: float = Field(description="of the tests; intervals are of 1 - level")
    left_out: int = Field(
        0, description="records and directories that could not be read, whatever scenario they are of"
    )
    histories: list[History]
