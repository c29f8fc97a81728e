"""One scenario, run again and again: what its metrics are in each state of the host, and how well that is known.

The median of the runs of one state has an exact interval (`windtunnel.stats.median`). With `--until` it is looked at after every run, and
holds at all looks together.

History of the record's version:
1  runs, states, metrics with intervals
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.verdict import CANNOT_TELL, INTERRUPTED, INVALID, REFUSED, VALID
from windtunnel.errors import UserError
from windtunnel.host.states import groups
from windtunnel.live.process import ANNOUNCEMENT
from windtunnel.measure.compare.reading import Reading, deciding, read
from windtunnel.measure.executor import Executor, Job, ThisHost
from windtunnel.runs.directories import make_directory
from windtunnel.scenario import load, resolve
from windtunnel.stats.median import LEAST_RUNS, interval, interval_at_any_look, least_at_any_look
from windtunnel.version import __version__

REPEATED_VERSION: Final = 1
MOST = 30
"""Most runs, if nobody says how many."""
Stopped = Literal["all run", "reached", "interrupted"]


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RepeatedRun(Part):
    """One of the runs."""

    path: str
    reasons: list[str] = Field(description="why it is invalid and in no median; empty: it is valid")
    state: str | None = Field(description="state of the host that its metrics are of; null: not known")


class Middle(Part):
    """A metric over the runs of one state."""

    workload: str
    metric: str
    unit: Literal["/s", "ns"]
    median: float
    least: float = Field(description="of all runs of the state")
    most: float
    low: float | None = Field(
        description=f"95% interval of the median, with `until` of all looks together; null: fewer than {LEAST_RUNS} runs, "
        f"with `until` than {least_at_any_look()}"
    )
    high: float | None

    @property
    def off(self) -> float | None:
        """How far the interval reaches from the median, as a share of it; None: there is no interval."""
        if self.low is None or self.high is None:
            return None
        return max(self.high - self.median, self.median - self.low) / self.median if self.median else None


class InState(Part):
    """The valid runs of one state of the host."""

    state: str | None = Field(description="null: not known")
    runs: int
    metrics: list[Middle] = Field(description="of each workload the one that `compare` decides by")


class Repeated(Part):
    """What `windtunnel run --repeat` and `--until` print as JSON."""

    version: Literal[1] = REPEATED_VERSION
    made: AwareDatetime
    windtunnel: str
    path: str
    runs: list[RepeatedRun]
    states: list[InState] = Field(description="the one with the most runs first; empty: no run is valid")
    until: float | None = Field(description="share of the median within which its interval shall lie; null: none")
    most: int = Field(description="runs")
    stopped: Stopped

    @property
    def off(self) -> float | None:
        """How far the intervals of the first state reach from their medians, the farthest; None: there is none."""
        if not self.states or not self.states[0].metrics:
            return None
        shares = [middle.off for middle in self.states[0].metrics]
        return None if None in shares else max(share for share in shares if share is not None)

    @property
    def reached(self) -> bool:
        """Whether the intervals are as narrow as `until` asks for."""
        return self.until is not None and self.off is not None and self.off <= self.until

    @property
    def exit_code(self) -> int:
        """Exit code of `windtunnel run`."""
        if self.stopped == "interrupted":
            return INTERRUPTED
        if not self.states:
            return INVALID
        return CANNOT_TELL if self.until is not None and not self.reached else VALID


def repeat(
    file: Path,
    sets: Sequence[str],
    directory: Path,
    interrupts: Interrupts,
    *,
    labels: Mapping[str, str] | None = None,
    most: int = MOST,
    until: float | None = None,
    ended: Callable[[Repeated], None] = lambda repeated: None,
    executor: Executor | None = None,
) -> Repeated:
    """Runs the scenario `most` times into the new `directory`: 01, 02, ...; with `until` (a share) only until the 95% interval of the
    median lies within it, in the state of the host that most runs share. Each run has the `labels`. `ended` gets all that is known after
    each run. The first interrupt ends it, in good order. `executor`: of the runs; None: this host.

    Raises UserError for a scenario that cannot run, or if a run cannot be kept.
    """

    def result(stopped: Stopped) -> Repeated:
        return _repeated(directory, readings, until, most, stopped)

    readings: list[Reading] = []
    executor, scenario = executor or ThisHost(), load(file, list(sets))
    resolve(scenario, executor.view)  # refused before there is a directory
    make_directory(directory)
    width = max(2, len(str(most)))
    for number in range(1, most + 1):
        job = Job((scenario,), (directory / f"{number:0{width}}",), settle=True, labels=dict(labels or {}))
        (outcome,) = executor.execute_job(job, interrupts)
        readings.append(read(outcome.kept_run().path))
        if outcome.exit_code == REFUSED:
            raise UserError("; ".join(outcome.verdict.reasons), remedy=f"the run is in {readings[-1].path}")
        ANNOUNCEMENT.progress(number, most, "runs")
        repeated = result("all run")
        ended(repeated)
        if outcome.interrupted:
            return result("interrupted")
        if repeated.reached:
            return result("reached")
    return result("all run")


def _repeated(
    directory: Path, readings: Sequence[Reading], until: float | None, most: int, stopped: Stopped
) -> Repeated:
    valid = [reading for reading in readings if not reading.reasons]
    return Repeated(
        made=datetime.now(UTC),
        windtunnel=__version__,
        path=str(directory),
        runs=[RepeatedRun(path=str(r.path), reasons=r.reasons, state=r.state) for r in readings],
        states=[
            InState(
                state=group.state,
                runs=len(group.positions),
                metrics=_middles([valid[n] for n in group.positions], until),
            )
            for group in groups([(reading,) for reading in valid])
        ],
        until=until,
        most=most,
        stopped=stopped,
    )


def _middles(runs: Sequence[Reading], until: float | None) -> list[Middle]:
    middles = []
    for workload in runs[0].modes:
        metric, _ = deciding(workload, runs)
        values = [value for run in runs if (value := run.values.get((workload, metric))) is not None]
        if values:
            middles.append(_middle(workload, metric, values, until))
    return middles


def _middle(workload: str, metric: str, values: Sequence[float], until: float | None) -> Middle:
    low, high = interval(values) if until is None else interval_at_any_look(values)
    return Middle(
        workload=workload,
        metric=metric,
        unit="/s" if metric.endswith("_per_s") else "ns",
        median=median(values),
        least=min(values),
        most=max(values),
        low=low,
        high=high,
    )
