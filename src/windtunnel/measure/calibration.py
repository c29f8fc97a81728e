"""How far the intervals of this product hold on this host: a scenario is compared with itself, again and again, over hours and days.

A directory keeps the comparisons, and everything is computed from them: what was compared before counts with what is compared now.

History of the record's version:
1  shares of intervals that hold: of comparisons, of runs, of another day
"""

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from math import expm1, log
from pathlib import Path
from statistics import median, stdev
from typing import Any, Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from pydantic_core import to_jsonable_python

from windtunnel.engine.verdict import CANNOT_TELL, INTERRUPTED, INVALID, VALID
from windtunnel.errors import UserError
from windtunnel.measure.compare.compared import NAME, Running, compare
from windtunnel.measure.compare.comparison_record import COMPARISON_VERSION, NO_VERDICT, Comparison, Run
from windtunnel.measure.compare.paired_runs import Turn
from windtunnel.measure.compare.points import FOUND
from windtunnel.measure.compare.reading import MetricKey, windows
from windtunnel.measure.executor import Executor
from windtunnel.measure.study.record import document_of, validated
from windtunnel.runs import Record
from windtunnel.runs.directories import make_directory
from windtunnel.runs.identity import flat
from windtunnel.runs.reader import record_of
from windtunnel.runs.record import LEAST_NUMBER, MOST_NUMBER
from windtunnel.scenario import here, load, resolve
from windtunnel.scenario.load import located
from windtunnel.stats.days import LEAST_DAYS, another_day
from windtunnel.stats.differences import LEVEL
from windtunnel.stats.mean import SHOWN, mean_of
from windtunnel.stats.median import likelihood_at_any_look
from windtunnel.stats.shares import share_of
from windtunnel.version import __version__

CALIBRATION_VERSION: Final = 1
MOST_COMPARISONS = 1000
"""Kept in one directory."""
MOST_PAIRS = 1000
LAST = 10
"""Comparisons of which the windows of each run are read: the newest ones."""
RUN = re.compile(r"[0-9]{1,6}", re.ASCII)
"""The name of a run's directory."""
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
        """Whether it is shown not to be as it says, with an error of 1% however often somebody looks."""
        if self.says is None or not self.of:
            return False
        share = self.count / self.of
        worse = share < self.says if self.of_what == "interval" else share > self.says
        return worse and likelihood_at_any_look(self.count, self.of, self.says) <= LEVEL


class Calibration(Part):
    """What `windtunnel calibrate` prints as JSON."""

    version: Literal[1] = CALIBRATION_VERSION
    made: AwareDatetime
    windtunnel: str
    path: str = Field(description="the directory of the comparisons")
    metric: str | None = Field(description="by which comparisons were decided; null: there is none with a verdict")
    comparisons: int = Field(description="with a verdict")
    without_verdict: int
    no_verdict_because: str | None = Field(
        default=None, description="why the newest comparison without a verdict has none; null: all have one"
    )
    unread: list[str] = Field(
        description="directories that hold no comparison that can be read, and why; they are not counted"
    )
    others: int = Field(
        description="comparisons of another host, kernel, state of the host or metric than the newest one: not counted"
    )
    days: int
    between_days: float | None = Field(description="standard deviation of the days' medians, as a share; null: one day")
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
    comparisons: int,
    pairs: int,
    executor: Executor | None = None,
    announce: Callable[[int, Turn], None] = lambda number, turn: None,
) -> Calibration:
    """Compares the scenario with itself `comparisons` times, into new directories below `directory`, which may be there already, and judges all
    comparisons in it. 0 `comparisons` judge those that are there. The first interrupt ends it after the run has been stored.

    Raises UserError for a scenario that cannot run, or if the directory holds comparisons of another one.
    """
    file = located(file)
    scenario = to_jsonable_python(resolve(load(file, list(sets)), executor.view if executor else here()).resolved)
    kept, _ = _read(directory, scenario)
    if not directory.exists():
        make_directory(directory)
    stopped: Stopped = "all run"
    for number in range(1, comparisons + 1):
        place = directory / f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%SZ}"
        # a seed of its own: in each comparison, other runs go first
        running = Running(sets=sets, pairs=pairs, seed=len(kept) + number)
        try:
            comparison, _ = compare(file, file, running, place, announce=partial(announce, number), executor=executor)
        except UserError:
            if not (place / "a").exists() or (place / "b").exists():
                raise
            stopped = "interrupted"  # before the first run of B
            break
        if comparison.paired_runs and comparison.paired_runs.stopped == "interrupted":
            stopped = "interrupted"
            break
    return judge(directory, scenario, stopped)


@dataclass(frozen=True)
class _CountedComparison:
    """The part of a comparison that a calibration counts."""

    started: datetime
    host: list[tuple[object, ...]]
    """What figures depend on, of each host that its runs ran on."""
    runs: list[Path]
    """The runs that were compared."""
    key: MetricKey | None
    """The metric by which it was decided; None: it has no verdict, and none of the following values."""
    state: str | None = None
    """State of the host."""
    shown: bool = False
    holds: bool = False
    """Whether the interval of the difference holds 0."""
    values: tuple[float, ...] = ()
    """Values of the runs of both sides."""
    reason: str = ""
    """Why it has no verdict."""

    @property
    def alike(self) -> tuple[object, ...]:
        """What two comparisons must have in common to count together."""
        return tuple(self.host), self.key, self.state


def judge(directory: Path, scenario: dict[str, Any], stopped: Stopped = "all run") -> Calibration:
    """The calibration from the comparisons in the directory. `scenario`: as it was resolved. Raises UserError if a comparison is of another one."""
    kept, unread = _read(directory, scenario)
    with_verdict = [comparison for comparison in kept if comparison.key]
    decided = [comparison for comparison in with_verdict if comparison.alike == with_verdict[-1].alike]
    days = _days(decided)
    return Calibration(
        made=datetime.now(UTC),
        windtunnel=__version__,
        path=str(directory),
        metric=decided[-1].key[1] if decided and decided[-1].key else None,
        comparisons=len(decided),
        without_verdict=len(kept) - len(with_verdict),
        no_verdict_because=next((comparison.reason for comparison in reversed(kept) if not comparison.key), None),
        unread=unread,
        others=len(with_verdict) - len(decided),
        days=len(days),
        between_days=expm1(stdev(log(median(values)) for values in days)) if len(days) > 1 else None,
        shares=[
            _share_of_errors(decided),
            _share_of_intervals(decided),
            _share_of_runs(decided[-LAST:]),
            _share_of_days(days),
        ],
        stopped=stopped,
    )


def _share_of_errors(decided: Sequence[_CountedComparison]) -> Share:
    shown_count = sum(comparison.shown for comparison in decided)
    return _share("compare shows a difference, and there is none", "error", LEVEL, shown_count, len(decided))


def _share_of_intervals(decided: Sequence[_CountedComparison]) -> Share:
    hold = sum(comparison.holds for comparison in decided)
    return _share(f"compare: the {1 - LEVEL:.0%} interval holds 0", "interval", 1 - LEVEL, hold, len(decided))


def _share_of_runs(decided: Sequence[_CountedComparison]) -> Share:
    """The ± beside a run's metric is of that run alone. How often it holds the median of the runs beside it shows what that leaves out."""
    hits = [
        low <= median(comparison.values) <= high
        for comparison in decided
        for run in comparison.runs
        for low, high in _interval_of(run, comparison.key)
    ]
    description = f"run: its interval holds the median of the comparison's runs (of the last {LAST} comparisons)"
    return _share(description, "interval", None, sum(hits), len(hits))


def _share_of_days(days: Sequence[Sequence[float]]) -> Share:
    """The first run of each day from the fourth on, predicted by the days before it."""
    hits = []
    for number in range(LEAST_DAYS, len(days)):
        day = another_day([[log(value) for value in values] for values in days[:number]])
        assert day is not None and day.low is not None and day.high is not None
        hits.append(day.low <= log(days[number][0]) <= day.high)  # runs of one day are no cases of their own
    description = f"history: the {SHOWN:.0%} interval holds a run on another day"
    return _share(description, "interval", SHOWN, sum(hits), len(hits))


def _share(
    description: str, of_what: Literal["interval", "error"], says: float | None, count: int, total: int
) -> Share:
    interval = share_of(count, total) if total else None
    return Share(
        what=description,
        of_what=of_what,
        says=says,
        count=count,
        of=total,
        low=interval and interval.low,
        high=interval and interval.high,
    )


def _interval_of(run: Path, key: MetricKey | None) -> Iterator[tuple[float, float]]:
    """The interval by the windows of the run; none if they are too few, or for a percentile, which is no mean of the windows' percentiles."""
    if key is None or not key[1].endswith("_per_s"):
        return
    values = [value for window in windows(run) if (value := window.get(key)) is not None]
    interval = mean_of(values) if values else None
    if interval and interval.low is not None and interval.high is not None:
        yield interval.low, interval.high


def _days(decided: Sequence[_CountedComparison]) -> list[list[float]]:
    """The values of each day (UTC), in the order of time."""
    days: dict[object, list[float]] = {}
    for comparison in decided:
        days.setdefault(comparison.started.date(), []).extend(comparison.values)
    return list(days.values())


def _read(directory: Path, scenario: dict[str, Any]) -> tuple[list[_CountedComparison], list[str]]:
    """The comparisons in the directory, in the order of time, and what cannot be read. Raises UserError for one of another scenario, and
    for more than MOST_COMPARISONS."""
    files = sorted(itertools.islice(directory.glob(f"*/{NAME}"), MOST_COMPARISONS + 1))
    if len(files) > MOST_COMPARISONS:
        raise UserError(
            f"{directory}: more than {MOST_COMPARISONS:,} comparisons", remedy="--out DIR, another directory"
        )
    kept, unread = list[_CountedComparison](), list[str]()
    for file in files:
        try:
            comparison = _comparison(file)
            if comparison is None:
                continue
            record = record_of(_place(file, comparison.points[0].runs[0]))
            kept.append(_counted(file, comparison, record))
        except UserError as error:
            unread.append(error.message)
            continue
        if _given_keys(record.scenario) != _given_keys(scenario):
            raise UserError(
                f"{file.parent}: a comparison of another scenario, or with other options",
                remedy="--out DIR, another directory for each scenario",
            )
    return sorted(kept, key=lambda comparison: comparison.started), unread


def _comparison(file: Path) -> Comparison | None:
    """None: nothing was compared, a scenario with another one, or it was interrupted. Raises UserError for a damaged one, or one of another version."""
    document = document_of(file, "comparison", COMPARISON_VERSION, "--out DIR, a directory of comparisons")
    comparison = validated(file, Comparison, document)
    if len(comparison.points) != 1 or comparison.points[0].differences or not comparison.points[0].runs:
        return None
    if comparison.paired_runs and comparison.paired_runs.stopped == "interrupted":
        return None
    if comparison.level != LEVEL:
        raise UserError(f"{file}: intervals of {1 - comparison.level:g}, not of {1 - LEVEL:g}")
    names = [Path(run.path).name for run in comparison.points[0].runs]
    if len(names) > 2 * MOST_PAIRS or not all(map(RUN.fullmatch, names)):
        raise UserError(f"{file}: its runs are not those of a comparison")
    return comparison


def _counted(file: Path, comparison: Comparison, record: Record) -> _CountedComparison:
    """The values of a comparison that count. Raises UserError if the record contradicts itself."""
    (point,) = comparison.points
    if record.started is None:
        raise UserError(f"{file}: its runs have no time")
    runs = [_place(file, run) for run in point.runs if run.place is not None]
    about = _CountedComparison(record.started, list(map(_host, record.hosts)), list(dict.fromkeys(runs)), None)
    if not point.judged:
        return replace(about, reason="no workload was compared")
    judged = point.judged[0]
    if judged.verdict in NO_VERDICT:
        return replace(about, reason="; ".join([judged.verdict, *judged.reasons]))
    key = (judged.workload, judged.decided_by)
    measure = next((candidate for candidate in point.measures if (candidate.workload, candidate.metric) == key), None)
    values = [value for value in (*measure.a, *measure.b) if value is not None] if measure else []
    names = {(verdict.workload, verdict.decided_by) for verdict in point.judged}
    deciders = [measure for measure in point.measures if (measure.workload, measure.metric) in names]
    if (
        measure is None
        or not all(measure.interval for measure in deciders)
        or not values
        or not all(LEAST_NUMBER <= value <= MOST_NUMBER for value in values)
    ):
        raise UserError(f"{file}: no values of {judged.decided_by}, by which it was decided")
    if any(measure.interval and measure.interval.method == "assumed" for measure in deciders):
        return replace(
            about, reason="the spread between runs is assumed, because too few pairs are of one state of the host"
        )
    return replace(
        about,
        key=(measure.workload, measure.metric),
        state=point.states[0].state if point.states else None,
        shown=any(measure.shown for measure in deciders),
        holds=all(measure.interval.low <= 0 <= measure.interval.high for measure in deciders if measure.interval),
        values=tuple(values),
    )


def _place(file: Path, run: Run) -> Path:
    """The directory of a run of the comparison, independent of the working directory."""
    return file.parent / run.side / Path(run.path).name


def _given_keys(scenario: dict[str, Any]) -> dict[str, Any]:
    """The scenario's keys without those that follow from the host if nobody sets them, such as cores."""
    return {key: value for key, value in flat(scenario).items() if not key.endswith(FOUND)}


def _host(facts: dict[str, Any]) -> tuple[object, ...]:
    cpus = facts.get("cpus") or {}
    return facts.get("kernel"), cpus.get("model"), cpus.get("virtual")
