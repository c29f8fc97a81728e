"""Runs of trials with the real engine: candidate and incumbent in turns, or one of them alone in an open loop."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError
from windtunnel.host import states
from windtunnel.host.states import Where
from windtunnel.measure.compare.pair import Pair, change_after
from windtunnel.measure.compare.reading import Reading, read
from windtunnel.measure.execute import RunOutcome
from windtunnel.measure.executor import Executor, Job
from windtunnel.measure.throughput.search_options import PERCENTILES
from windtunnel.parts.tune.first import Move, remedies
from windtunnel.parts.tune.space import Space
from windtunnel.parts.tune.tuning_record import Failure
from windtunnel.runs import load
from windtunnel.scenario import Scenario, resolve

Sets = Sequence[str]
Side = Literal["incumbent", "candidate"]


@dataclass(frozen=True)
class Measured:
    """The result of one run."""

    rate: float | None = None
    """Responses per second of all workloads together; without a client the packets that the server received."""
    latency: dict[str, float | None] = field(default_factory=dict)
    """Percentile -> ns of the slowest workload; None: more messages were lost or unsent than it leaves."""
    where: Where = field(default_factory=Where)
    failure: Failure | None = None
    reasons: tuple[str, ...] = ()
    interrupted: bool = False


class Rig(Protocol):
    """Makes runs. Raises UserError if a run cannot be kept."""

    def pair(self, incumbent: Sets, candidate: Sets, directory: Path, number: int) -> tuple[Measured, Measured]:
        """Runs both in turns; the `number`-th pair of the trial in this directory."""

    def alone(self, sets: Sets, directory: Path) -> Measured:
        """Makes one run into a new directory."""

    def remedies(self, directory: Path, side: Side, number: int) -> Sequence[Move]:
        """The moves that a diagnosis of one side of this pair suggests."""


@dataclass(frozen=True)
class Engines:
    """The rig of the real engine."""

    space: Space
    executor: Executor
    interrupts: Interrupts
    seed: int

    def pair(self, incumbent: Sets, candidate: Sets, directory: Path, number: int) -> tuple[Measured, Measured]:
        scenarios = []
        for sets in (incumbent, candidate):
            scenario = self._scenario(sets)
            if isinstance(scenario, Measured):
                return (Measured(), scenario) if sets is candidate else (scenario, Measured())
            scenarios.append(scenario)
        dice = random.Random(f"{self.seed} {directory.name} {number}")
        order = (0, 1) if dice.random() < 0.5 else (1, 0)
        runs = [_run(directory, side, number) for side in ("incumbent", "candidate")]
        done = Pair(scenarios, runs, order).run(
            change_after(scenarios, None), self.executor, self.interrupts, lambda running: None
        )
        measured = {side: _measured(outcome) for side, outcome in done}
        return measured[0], measured[1]

    def alone(self, sets: Sets, directory: Path) -> Measured:
        scenario = self._scenario(sets)
        if isinstance(scenario, Measured):
            return scenario
        return _measured(*self.executor.execute_job(Job((scenario,), (directory,)), self.interrupts))

    def remedies(self, directory: Path, side: Side, number: int) -> Sequence[Move]:
        try:
            return remedies(load(_run(directory, side, number)))
        except UserError:  # the user may have deleted runs to save space: only trial.json is needed
            return ()

    def _scenario(self, sets: Sets) -> Scenario | Measured:
        """The scenario, checked for each run because the host's memory may have shrunk. Raises UserError if the file has changed."""
        self.space.check_unchanged()
        try:
            scenario = self.space.scenario(sets)
            resolve(scenario, self.executor.view)
        except UserError as error:
            return Measured(failure="refused", reasons=(error.message,))
        return scenario


def _run(directory: Path, side: Side, number: int) -> Path:
    return directory / side / f"{number:02}"


FAILURES: tuple[tuple[str, Failure], ...] = (
    ("engine refused", "refused"),
    ("engine died", "crashed"),
    ("protocol error", "crashed"),
    ("no result", "crashed"),
    ("engine killed", "hung"),
)
"""Beginnings of a verdict's reasons and their failures; the failure of any other invalid run is "invalid"."""


def failure_of(reasons: Sequence[str]) -> Failure:
    return next((kind for begins, kind in FAILURES if any(r.startswith(begins) for r in reasons)), "invalid")


def same_state(a: Measured, b: Measured) -> bool:
    return states.same(a.where, b.where)


def _measured(outcome: RunOutcome) -> Measured:
    run = outcome.kept_run()
    if outcome.interrupted:
        return Measured(interrupted=True)
    if not outcome.verdict.valid:
        reasons = tuple(outcome.verdict.reasons)
        return Measured(failure=failure_of(reasons), reasons=reasons)
    return of_reading(read(run.path))


def of_reading(reading: Reading) -> Measured:
    """Throughput and latency of a valid run."""
    rates = [
        v for (_, name), v in reading.values.items() if name in ("responses_per_s", "received_per_s") and v is not None
    ]
    where = Where(reading.state, reading.line_ns)
    return Measured(sum(rates) or None, {name: _slowest(reading, name) for name in PERCENTILES}, where)


def _slowest(reading: Reading, percentile: str) -> float | None:
    left = 1 - PERCENTILES[percentile] / 100
    if any(share > left for share in reading.not_forwarded.values()):
        return None
    values = [value for (_, name), value in reading.values.items() if name == percentile]
    return None if not values or None in values else max(value for value in values if value is not None)
