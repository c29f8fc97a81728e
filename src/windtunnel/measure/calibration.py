"""How far the intervals of this product hold on this host: a scenario is compared with itself, again and again, over hours and days.

A directory keeps the comparisons, and everything is computed from them: what was compared before counts with what is compared now.

History of the record's version:
1  shares of intervals that hold: of comparisons, of runs, of another day
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from math import expm1, log
from pathlib import Path
from statistics import median, stdev
from typing import Any, Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from windtunnel.engine.verdict import CANNOT_TELL, INTERRUPTED, INVALID, VALID
from windtunnel.errors import UserError
from windtunnel.measure.compare.compared import NAME, Running, compare
from windtunnel.measure.compare.model import COMPARISON_VERSION, NO_VERDICT, Comparison, Measure, Run
from windtunnel.measure.compare.paired_runs import Turn
from windtunnel.measure.compare.reading import MetricKey, windows
from windtunnel.measure.executor import Executor
from windtunnel.measure.study.record import document_of, validated
from windtunnel.runs import load
from windtunnel.runs.directories import make_directory
from windtunnel.stats.days import LEAST_DAYS, another_day
from windtunnel.stats.mean import SHOWN, mean_of
from windtunnel.stats.shares import share_of
from windtunnel.version import __version__

CALIBRATION_VERSION: Final = 1
COMPARISONS = 4
"""Comparisons of one calibration, if nobody says how many."""
PAIRS = 8
"""Pairs of a comparison: as few as can show a difference at 1% whatever the metrics."""
Stopped = Literal["all run", "interrupted"]


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Share(Part):
    """One kind of interval, or of error."""

    what: str
    of_what: Literal["interval", "error"] = Field(
        description="interval: it is to hold at least as often as it says; error: it is to happen at most as often"
    )
    says: float | None = Field(
        description="share of cases in which it is to hold, or to happen; null: it says nothing of these cases"
    )
    count: int = Field(description="cases in which it did")
    of: int = Field(description="cases")
    low: float | None = Field(description="of the 95% interval of the share (Clopper and Pearson); null: no cases")
    high: float | None

    @property
    def fails(self) -> bool:
        """Whether it is shown not to be as it says."""
        if self.says is None or self.low is None or self.high is None:
            return False
        return self.high < self.says if self.of_what == "interval" else self.low > self.says


class Calibration(Part):
    """What `windtunnel calibrate` prints as JSON."""

    version: Literal[1] = CALIBRATION_VERSION
    made: AwareDatetime
    windtunnel: str
    path: str = Field(description="the directory of the comparisons")
    metric: str | None = Field(description="by which comparisons were decided; null: there is none with a verdict")
    comparisons: int = Field(description="with a verdict")
    without_verdict: int
    other_hosts: int = Field(
        description="comparisons that another host made, or this one with another kernel: not counted"
    )
    days: int
    between_days: float | None = Field(
        description="how far the medians of two days are apart, one standard deviation, as a share; null: one day"
    )
    shares: list[Share]
    stopped: Stopped

    @property
    def exit_code(self) -> int:
        """Exit code of `windtunnel calibrate`."""
        if self.stopped == "interrupted":
            return INTERRUPTED
        if not self.comparisons:
            return CANNOT_TELL
        return INVALID if any(share.fails for share in self.shares) else VALID


def calibrate(
    file: Path,
    sets: Sequence[str],
    directory: Path,
    *,
    comparisons: int = COMPARISONS,
    pairs: int = PAIRS,
    executor: Executor | None = None,
    announce: Callable[[int, Turn], None] = lambda number, turn: None,
) -> Calibration:
    """Compares the scenario with itself so many times, into new directories below `directory`, which may be there already, and judges all
    comparisons in it. 0 `comparisons` judge those that are there. The first interrupt ends it, in good order.

    Raises UserError for a scenario that cannot run, or if the directory holds comparisons of several scenarios.
    """
    earlier = _read(directory)
    if not directory.exists():
        make_directory(directory)
    stopped: Stopped = "all run"
    for number in range(1, comparisons + 1):
        place = directory / f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%SZ}"
        # a seed of its own: in each comparison, other runs go first
        running = Running(sets=sets, pairs=pairs, seed=len(earlier) + number)
        comparison, _ = compare(file, file, running, place, announce=partial(announce, number), executor=executor)
        if comparison.paired_runs and comparison.paired_runs.stopped == "interrupted":
            stopped = "interrupted"
            break
    return judge(directory, stopped)


@dataclass(frozen=True)
class _Kept:
    """A comparison, and where its runs ran."""

    directory: Path
    comparison: Comparison
    host: list[tuple[object, ...]]
    """What figures depend on, of each host that its runs ran on."""
    started: datetime
    scenario: dict[str, Any]


def judge(directory: Path, stopped: Stopped = "all run") -> Calibration:
    """What the comparisons in the directory say. Raises UserError if they are of several scenarios."""
    kept = _read(directory)
    here = [each for each in kept if each.host == kept[-1].host]
    told = [(each, measure) for each in here if (measure := _decider(each.comparison)) is not None]
    days = _days(told)
    return Calibration(
        made=datetime.now(UTC),
        windtunnel=__version__,
        path=str(directory),
        metric=told[-1][1].metric if told else None,
        comparisons=len(told),
        without_verdict=len(here) - len(told),
        other_hosts=len(kept) - len(here),
        days=len(days),
        between_days=expm1(stdev(log(median(values)) for values in days)) if len(days) > 1 else None,
        shares=[
            _of_comparisons(told, "error"),
            _of_comparisons(told, "interval"),
            _of_runs(told),
            _of_days(days),
        ],
        stopped=stopped,
    )


def _of_comparisons(told: Sequence[tuple[_Kept, Measure]], of_what: Literal["interval", "error"]) -> Share:
    level = told[-1][0].comparison.level if told else 0.01
    intervals = [measure.interval for _, measure in told if measure.interval]
    if of_what == "error":
        shown = sum(measure.shown for _, measure in told)
        return _share("compare shows a difference, and there is none", of_what, level, shown, len(told))
    hold = sum(interval.low <= 0 <= interval.high for interval in intervals)
    return _share(f"compare: the {1 - level:.0%} interval holds 0", of_what, 1 - level, hold, len(intervals))


def _of_runs(told: Sequence[tuple[_Kept, Measure]]) -> Share:
    """The ± beside a run's metric is of that run alone. How often it holds the median of the runs beside it shows what that leaves out."""
    held = [
        low <= level <= high
        for each, measure in told
        for level in [median(value for value in (*measure.a, *measure.b) if value is not None)]
        for low, high in _of_windows(each, (measure.workload, measure.metric))
    ]
    return _share("run: its interval holds the median of the comparison's runs", "interval", None, sum(held), len(held))


def _of_days(days: Sequence[Sequence[float]]) -> Share:
    """Each day from the fourth on, predicted by those before it."""
    held = []
    for number in range(LEAST_DAYS, len(days)):
        day = another_day([[log(value) for value in values] for values in days[:number]])
        assert day is not None and day.low is not None and day.high is not None
        held += [day.low <= log(value) <= day.high for value in days[number]]
    return _share(
        f"history: the {SHOWN:.0%} interval holds a run on another day", "interval", SHOWN, sum(held), len(held)
    )


def _share(what: str, of_what: Literal["interval", "error"], says: float | None, count: int, of: int) -> Share:
    found = share_of(count, of) if of else None
    return Share(
        what=what,
        of_what=of_what,
        says=says,
        count=count,
        of=of,
        low=found and found.low,
        high=found and found.high,
    )


def _decider(comparison: Comparison) -> Measure | None:
    """What decided it; None: it has no verdict."""
    (point,) = comparison.points
    judged = point.judged[0]
    if judged.verdict in NO_VERDICT:
        return None
    return next(m for m in point.measures if (m.workload, m.metric) == (judged.workload, judged.decided_by))


def _of_windows(kept: _Kept, key: MetricKey) -> Iterator[tuple[float, float]]:
    """The interval of each run that was compared."""
    for run in kept.comparison.points[0].runs:
        if run.place is None:
            continue
        values = [value for window in windows(_place(kept.directory, run)) if (value := window.get(key)) is not None]
        found = mean_of(values) if values else None
        if found and found.low is not None and found.high is not None:
            yield found.low, found.high


def _days(told: Sequence[tuple[_Kept, Measure]]) -> list[list[float]]:
    """The values of each day (UTC), in the order of time."""
    days: dict[object, list[float]] = {}
    for each, measure in told:
        values = [value for value in (*measure.a, *measure.b) if value]
        days.setdefault(each.started.date(), []).extend(values)
    return list(days.values())


def _read(directory: Path) -> list[_Kept]:
    """All comparisons in the directory, in the order of time. Raises UserError if they are of several scenarios."""
    kept = [each for file in sorted(directory.glob(f"*/{NAME}")) if (each := _kept(file)) is not None]
    kept.sort(key=lambda each: each.started)
    if other := next((each for each in kept if each.scenario != kept[0].scenario), None):
        raise UserError(
            f"{directory}: there are comparisons of several scenarios, as {kept[0].comparison.a} and {other.comparison.a}",
            remedy="--out DIR, another directory for each scenario",
        )
    return kept


def _kept(file: Path) -> _Kept | None:
    """None: nothing ran, or a scenario was compared with another one."""
    document = document_of(file, "comparison", COMPARISON_VERSION, "--out DIR, a directory of comparisons")
    comparison = validated(file, Comparison, document)
    if len(comparison.points) != 1 or not comparison.points[0].judged:
        return None
    (point,) = comparison.points
    if point.differences or not point.runs:
        return None
    record = load(_place(file.parent, point.runs[0])).record
    if record.started is None:
        return None
    return _Kept(file.parent, comparison, list(map(_host, record.hosts)), record.started, record.scenario)


def _place(directory: Path, run: Run) -> Path:
    """Where a run is, wherever the command is called."""
    return directory / run.side / Path(run.path).name


def _host(facts: dict[str, Any]) -> tuple[object, ...]:
    cpus = facts.get("cpus") or {}
    return facts.get("kernel"), cpus.get("model"), cpus.get("virtual")
