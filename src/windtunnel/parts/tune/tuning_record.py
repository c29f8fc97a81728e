"""tuning.json: what a tuner's directory is, written once before its first trial. trial.json: one trial, written when it has ended.

Only the trials' directories are kept. Everything else that a tuner knows is computed from them.

History of the versions:
1  first ones
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from math import log
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, AwareDatetime, Field
from pydantic_core import to_jsonable_python

from windtunnel.errors import UserError
from windtunnel.host import facts
from windtunnel.measure.study import identity
from windtunnel.measure.study.record import (
    FactorRecord,
    TextFile,
    document_of,
    factor_record,
    text_file,
    validated,
    versions,
)
from windtunnel.parts.tune.goal import Goal, Objective, Slo
from windtunnel.parts.tune.space import Space
from windtunnel.runs.record import LEAST_NUMBER, MOST_NUMBER, Part

VERSION: Final = 1
NAME, TRIAL, FINAL = "tuning.json", "trial.json", "final.json"
TRIALS = "trials"

Outcome = Literal["better", "worse", "no difference shown", "measured", "meets the SLO", "misses the SLO", "failed"]
Failure = Literal["crashed", "hung", "refused", "invalid"]


def _measurable(value: float) -> float:
    if value and not LEAST_NUMBER <= value <= MOST_NUMBER:
        raise ValueError(f"neither 0 nor a number from {LEAST_NUMBER:g} to {MOST_NUMBER:g}")
    return value


Rate = Annotated[float, AfterValidator(_measurable)]
Time = Annotated[float, Field(ge=0, le=MOST_NUMBER)]
LogRatio = Annotated[float, Field(ge=-100, le=100)]
Share = Annotated[float, Field(ge=-1, le=1e50)]


class TuningRecord(Part):
    """What tuning.json holds."""

    version: Literal[1] = VERSION
    title: str
    question: str
    started: AwareDatetime
    scenario: TextFile
    space: TextFile | None = Field(description="null: the default space of this scenario on this host")
    sets: list[str] = Field(description="of every trial: [set] of the space and of the command line")
    objective: Objective
    percentile: str | None = Field(description="latency of the SLO; null: there is none")
    limit_ns: float | None
    rate: float | None = Field(
        description="of the open loop in which latency is measured, a second; null: the scenario's own, or none"
    )
    seed: int
    factors: list[FactorRecord]
    points: int = Field(description="of the space, as far as its constraints tell")
    host: dict[str, Any]
    versions: dict[str, str]

    @property
    def goal(self) -> Goal:
        slo = Slo(self.percentile, self.limit_ns) if self.percentile and self.limit_ns else None
        return Goal(self.objective, slo, self.rate)


class PairRecord(Part):
    """Candidate and incumbent in turns: what each did, a second."""

    incumbent: Rate | None
    candidate: Rate | None
    excluded: str | None = Field(description="why it does not count; null: it does")


class LatencyRecord(Part):
    """A percentile of runs in the open loop, ns."""

    ns: list[Time | None] = Field(
        description="of each run; null: more messages were lost or unsent than the percentile leaves"
    )
    low: Time | None = Field(description="95% interval of the median; null: too few runs")
    high: Time | None
    met: bool | None = Field(description="whether the upper end is within the SLO; null: there is none")


class TrialRecord(Part):
    """What trial.json holds."""

    version: Literal[1] = VERSION
    number: int = Field(description="0: the file itself")
    started: AwareDatetime
    seconds: float
    point: list[int] | None = Field(
        description="positions in the levels of each factor; null: the file is no point of the space"
    )
    sets: list[str] = Field(description="what differs from the file")
    words: str = Field(description="the factors that differ from the file, with their levels")
    why: str = Field(description="why it was tried")
    move: int | None = Field(description="number of the first move that it is, from 0; null: none")
    incumbent: int = Field(description="number of the trial that it was compared with")
    outcome: Outcome
    failure: Failure | None
    reasons: list[str] = Field(description="reasons of the outcome, as sentences")
    pairs: list[PairRecord]
    difference: LogRatio | None = Field(
        description="natural logarithm of the ratio to the incumbent's throughput; null: not measured"
    )
    low: LogRatio | None = Field(description="its interval, corrected for the looks; null: not known yet")
    high: LogRatio | None
    latency: LatencyRecord | None
    workers: int = Field(description="CPUs of the server's workers")
    gain: LogRatio | None = Field(
        description="natural logarithm of the ratio to the file's throughput, from trial to trial; null: not measured"
    )

    @property
    def meets(self) -> bool:
        """Whether nothing speaks against it: it did not fail, and it meets the SLO if there is one."""
        return self.failure is None and (self.latency is None or self.latency.met is not False)


class FinalRecord(Part):
    """What final.json holds: the winner, measured afresh against the file."""

    version: Literal[1] = VERSION
    trial: int
    pairs: list[PairRecord] = Field(description="the incumbent is the file")
    difference: Share | None = Field(description="share of the file's throughput; null: not compared")
    low: Share | None = Field(description="of its 99% interval")
    high: Share | None
    latency: LatencyRecord | None
    confirmed: bool = Field(description="whether it was written as best.toml")
    reasons: list[str] = Field(description="why not; empty: it was")


def differences(pairs: Sequence[PairRecord]) -> list[float]:
    """Differences of the pairs that count: natural logarithms of candidate / incumbent."""
    return [log(p.candidate / p.incumbent) for p in pairs if p.excluded is None and p.candidate and p.incumbent]


def middle_of(latency: LatencyRecord) -> float | None:
    """Median over its runs, ns; None: not measured, or not bounded."""
    known = [value for value in latency.ns if value is not None]
    return median(known) if known and len(known) == len(latency.ns) else None


def record_of(space: Space, space_file: Path | None, goal: Goal, seed: int, host: facts.Facts) -> TuningRecord:
    """The record of a tuning that begins now. Raises UserError if there is no engine."""
    scenario = space.plain.scenario
    return TuningRecord(
        title=scenario.title,
        question=scenario.question,
        started=datetime.now(UTC),
        scenario=text_file(scenario.source.file, scenario.source.text),
        space=text_file(space_file, space.text) if space_file else None,
        sets=list(space.common),
        objective=goal.objective,
        percentile=goal.slo.percentile if goal.slo else None,
        limit_ns=goal.slo.limit_ns if goal.slo else None,
        rate=goal.rate,
        seed=seed,
        factors=[factor_record(factor) for factor in space.factors],
        points=space.size,
        host=to_jsonable_python(host),
        versions=versions(),
    )


def read(directory: Path) -> TuningRecord:
    """Reads the record of a tuning. Raises UserError if there is none, or if it has another version."""
    path = directory / NAME
    return validated(
        path, TuningRecord, document_of(path, "tuning", VERSION, "name a directory that `windtunnel tune` has left")
    )


def read_trial(directory: Path) -> TrialRecord:
    """Reads the record of one trial. Raises as `read` does."""
    path = directory / TRIAL
    return validated(path, TrialRecord, document_of(path, "trial", VERSION, "name the directory of a trial"))


def read_final(directory: Path) -> FinalRecord:
    """Reads the record of the winner. Raises as `read` does."""
    path = directory / FINAL
    return validated(path, FinalRecord, document_of(path, "final", VERSION, "name the directory of a winner"))


def trials(directory: Path) -> list[TrialRecord]:
    """The trials that have ended, in their order. Raises UserError for one that is damaged."""
    files = sorted((directory / TRIALS).glob(f"*/{TRIAL}"))
    return sorted((read_trial(file.parent) for file in files), key=lambda trial: trial.number)


def check_same(directory: Path, then: TuningRecord, now: TuningRecord) -> None:
    """Raises UserError if the tuning that began in the directory is another one, or of another host."""
    changed = identity.changes(
        (then.scenario.file, then.scenario.text, now.scenario.text),
        (
            then.space.file if then.space else "space",
            then.space.text if then.space else "",
            now.space.text if now.space else "",
        ),
        ("options", identity.lines(_options(then)), identity.lines(_options(now))),
        ("space", identity.lines(_levels(then.factors)), identity.lines(_levels(now.factors))),
        ("versions", identity.lines(then.versions), identity.lines(now.versions)),
        ("host", identity.lines(identity.host_facts(then.host)), identity.lines(identity.host_facts(now.host))),
    )
    if changed:
        raise UserError(
            f"{directory}: cannot continue: the tuning has changed since it began\n{changed}",
            remedy="undo the changes, or start again with another --out",
        )


def _options(record: TuningRecord) -> dict[str, Any]:
    goal = record.goal
    return {"--set": record.sets, "goal": goal.text, "--seed": record.seed}


def _levels(factors: Sequence[FactorRecord]) -> dict[str, Any]:
    return {factor.name: [level.label for level in factor.levels] for factor in factors}
