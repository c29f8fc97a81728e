"""A whole search: the closed loop for a start, the trials, and latency at parts of the result."""

import math
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic_core import to_jsonable_python

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError
from windtunnel.live.process import ANNOUNCEMENT
from windtunnel.measure.executor import Executor, ThisHost
from windtunnel.measure.search import (
    NDR,
    PDR,
    Goal,
    GoalResult,
    Limits,
    SearchResult,
    TrialFailed,
    TrialResult,
    binary_search,
    search,
)
from windtunnel.measure.throughput.bursts import longest_burst
from windtunnel.measure.throughput.search_record import GoalRow, LatencyGoal, LatencyRow, SearchRecord, TrialRow
from windtunnel.measure.throughput.trials import (
    MOST_PAUSED,
    Interrupted,
    Runs,
    at_rate,
    responses_per_s,
    searchable,
)
from windtunnel.runs.directories import make_directory
from windtunnel.runs.files import replace
from windtunnel.runs.summary import summarise
from windtunnel.version import __version__

FILE = "search.json"
INTERRUPTED = "interrupted by the user"
"""What `SearchRecord.stopped` says then."""
PROBE_NS = 1_000_000_000
"""Duration of the closed loop that is run first."""
CLOSED_LOOPS = 8
"""Most closed loops, until the host no longer affects one."""
SLOWED = 4.0
"""Factor on the fastest closed loop if the host affected all of them: too high a start costs a trial or two, too low a one hides the
limit."""
ABOVE = 1.5
"""Factor on the closed loop's responses per second at which a search starts: an open loop does not sustain more."""
LEAST_EXCLUDED, MOST_EXCLUDED = 10, 120
"""Excluded trials in a row after which the search gives up."""
PATIENCE_S = 120
"""Trial time in a row that may be excluded, within these: a host state lasts from less than a second to some minutes."""
LEAST_PAUSED = 5
"""Trials in a row that pauses may have decided, after which they count if trials are long."""
BELOW = 1e-3
"""Times the greatest load is the least."""
SHARES = (0.1, 0.5, 0.9)
"""Shares of the partial drop rate at which latency is measured, as FD.io CSIT does."""


@dataclass(frozen=True)
class Options:
    """How a search goes. Rates in messages per second."""

    method: str = "mlrsearch"
    goals: tuple[Goal, ...] = (NDR, PDR)
    min_load: float | None = None
    max_load: float | None = None
    time_s: float | None = None
    """Time of the search itself; latency and bursts come after it."""
    latency: bool = True
    bursts: int = 5
    """Repeats of the back-to-back search; 0 leaves it out."""
    include_invalid: bool = False
    """Rejected metrics count like others."""


@dataclass(frozen=True)
class Watch:
    """A listener to the progress of a search."""

    started: Callable[[str], None] = lambda description: None
    trial: Callable[[TrialResult, tuple[GoalResult, ...]], None] = lambda trial, results: None


class Finder:
    """One search. `record` is true, and on the disk, after every trial."""

    def __init__(
        self,
        file: Path,
        sets: list[str],
        options: Options,
        directory: Path,
        interrupts: Interrupts,
        watch: Watch | None = None,
        executor: Executor | None = None,
    ):
        self.directory, self._options, self._watch = directory, options, watch or Watch()
        self._scenario = searchable(file, sets)
        make_directory(directory)
        self._runs = Runs(
            self._scenario,
            directory,
            interrupts,
            options.goals,
            executor=executor or ThisHost(),
            on_start=self._watch.started,
            include_invalid=options.include_invalid,
        )
        self.record = SearchRecord(
            title=self._scenario.title,
            question=self._scenario.question,
            started=datetime.now(UTC),
            method=options.method,
            scenario=self._scenario.model_dump(mode="json", by_alias=True),
            host=to_jsonable_python(self._runs.executor.host),
            versions={"windtunnel": __version__, "python": platform.python_version()},
            closed_loop_per_s=None,
            min_load=0,
            max_load=0,
        )
        self.interrupted = False

    def find(self) -> SearchRecord:
        """Searches, and keeps what was found so far if somebody asks for the end. Raises UserError if a run broke."""
        try:
            self._find()
        except Interrupted:
            self._stop(INTERRUPTED)
        except TrialFailed as error:
            if not isinstance(error.__cause__, Interrupted):
                raise
            self._stop(INTERRUPTED)
        self.record.finished = datetime.now(UTC)
        self._save()
        return self.record

    def _find(self) -> None:
        least = self._least_for_latency()
        limits = self._limits(least)
        self.record.min_load, self.record.max_load = limits.min_load, limits.max_load
        self._save()
        result = self._search(limits)
        self.record.stopped = result.stopped
        best = max(self._options.goals, key=lambda goal: goal.loss_ratio).name
        rate = result[best].conditional_throughput
        if self._options.latency and rate:
            for share in SHARES:
                self._latency_at(share, share * rate)
        carried = result.goals[0].conditional_throughput
        if self._options.bursts and carried and len(self._scenario.workload) == 1:
            self.record.burst = longest_burst(self._runs, limits.max_load, carried, self._options.bursts)
            self._save()

    def _least_for_latency(self) -> float:
        """Messages per second at which the shortest trials have every goal's percentile; 0 without such goals. Raises UserError for
        a --min or --max below it."""
        least = 0.0
        for goal in self._options.goals:
            if goal.latency is None:
                continue
            messages = goal.latency.least_messages
            needed = (messages + 1) / goal.initial_trial_duration_s
            for option, load in (("--min", self._options.min_load), ("--max", self._options.max_load)):
                if load is not None and load < needed:
                    raise UserError(
                        f"{option}: a trial at {load:g} /s has too few messages: {goal.name} needs {messages}",
                        remedy=f"{option} {math.ceil(needed)}pps or more, or a longer --trial",
                    )
            least = max(least, needed)
        return least

    def _limits(self, least_for_latency: float) -> Limits:
        most = self._options.max_load or self._greatest_load()
        least = self._options.min_load or max(BELOW * most, least_for_latency)
        if least >= most:
            raise UserError(
                f"a search up to {most:g} /s for a latency that needs trials at {least:g} /s or more",
                remedy="a longer --trial, or a lower percentile",
            )
        seconds = max(goal.final_trial_duration_s for goal in self._options.goals)
        excluded = min(max(LEAST_EXCLUDED, round(PATIENCE_S / seconds)), MOST_EXCLUDED)
        # before the search would end for want of a trial that counts
        self._runs.patience.in_a_row = max(excluded * MOST_PAUSED // MOST_EXCLUDED, LEAST_PAUSED)
        return Limits(least, most, time_s=self._options.time_s, excluded=excluded)

    def _greatest_load(self) -> float:
        """ABOVE times the responses per second of the same scenario in a closed loop. If the host affected it, it is run again; if it
        affected all, SLOWED times the fastest."""
        rates: list[float] = []
        for _ in range(CLOSED_LOOPS):
            closed = at_rate(self._scenario, None, PROBE_NS, PROBE_NS // 10)
            run = self._runs.run(closed, "closed loop, to find the start of the search")
            if not (responses := responses_per_s(run)):
                raise UserError(
                    f"{run.path}: the closed loop had no responses", remedy="--max RATE, or a scenario with responses"
                )
            rates.append(responses)
            self.record.closed_loop_per_s = max(rates)
            if (reason := self._runs.affected(run)) is None:
                self._runs.reference = run
                self.record.closed_loop_per_s = responses
                return ABOVE * responses
            self.record.closed_loops_excluded.append(reason)
        return SLOWED * max(rates)

    def _search(self, limits: Limits) -> SearchResult:
        began = time.monotonic()

        def tell(trial: TrialResult, results: tuple[GoalResult, ...]) -> None:
            self.record.trials.append(_trial_row(trial, self._options.goals))
            self.record.goals = [_goal_row(result) for result in results]
            self.record.state, self.record.other_states = self._runs.state, self._runs.other_states
            patience = self._runs.patience
            self.record.paused, self.record.pauses_count = patience.paused, patience.given_up
            self._save()
            left_s = None if limits.time_s is None else max(0.0, limits.time_s - (time.monotonic() - began))
            ANNOUNCEMENT.progress(len(self.record.trials), None, "trials", left_s)
            self._watch.trial(trial, results)

        if self._options.method == "rfc2544":
            result = binary_search(self._runs.trial, limits, self._options.goals[0], tell)
        else:
            result = search(self._runs.trial, self._options.goals, limits, tell)
        self.record.goals = [_goal_row(goal) for goal in result.goals]
        return result

    def _latency_at(self, share: float, rate: float) -> None:
        validity = self._scenario.validity.model_copy(update={"state": self._runs.state})
        scenario = self._scenario.model_copy(update={"validity": validity})
        changed = at_rate(scenario, rate, scenario.duration, scenario.warmup)
        run = self._runs.run(changed, f"latency at {share:.0%}: {rate:,.0f} /s")
        reasons = run.record.verdict.reasons
        for row in summarise(run).workloads:
            percentiles = (
                {}
                if not run.usable(self._options.include_invalid)
                else {
                    "p50": row.latency.p50,
                    "p90": row.latency.p90,
                    "p99": row.latency.p99,
                    "p999": row.latency.p999,
                    "p99_from_send": row.latency_sent.p99,
                    "pacing_p99": row.pacing.p99 if row.pacing else None,
                }
            )
            empty = dict.fromkeys(("p50", "p90", "p99", "p999", "p99_from_send", "pacing_p99"))
            self.record.latency.append(
                LatencyRow(
                    run=run.path.name,
                    share=share,
                    rate=rate,
                    workload=row.workload,
                    reasons=reasons,
                    **(empty | percentiles),
                )
            )
        self._save()

    def _stop(self, reason: str) -> None:
        self.interrupted = True
        self.record.stopped = reason
        for goal in self.record.goals:
            goal.irregular = goal.irregular and reason

    def _save(self) -> None:
        self.record.included = list(self._runs.included)
        replace(self.directory / FILE, self.record.model_dump_json(indent=1) + "\n")


def _trial_row(trial: TrialResult, goals: Sequence[Goal]) -> TrialRow:
    percentiles = {
        goal.name: trial.latencies.percentile_ns(goal.latency.share)
        for goal in goals
        if goal.latency and trial.latencies
    }
    return TrialRow(
        run=trial.details,
        load=trial.load,
        duration_s=trial.duration_s,
        sent=trial.sent,
        forwarded=trial.forwarded,
        unsent=trial.unsent,
        loss_ratio=trial.loss_ratio if trial.intended else None,
        percentiles_ns={name: _finite(ns) for name, ns in percentiles.items()},
        excluded=trial.excluded,
    )


def _finite(ns: float | None) -> float | None:
    return ns if ns is not None and math.isfinite(ns) else None


def _goal_row(result: GoalResult) -> GoalRow:
    goal = result.goal
    low, high = result.latency_interval_ns or (None, None)
    return GoalRow(
        name=goal.name,
        loss_ratio=goal.loss_ratio,
        exceed_ratio=goal.exceed_ratio,
        width=goal.width,
        initial_trial_duration_s=goal.initial_trial_duration_s,
        final_trial_duration_s=goal.final_trial_duration_s,
        duration_sum_s=goal.duration_sum_s,
        latency=goal.latency
        and LatencyGoal(
            percentile=100 * goal.latency.share,
            limit_ns=goal.latency.limit_ns,
            ns=_finite(result.latency_ns),
            low_ns=_finite(low),
            high_ns=_finite(high),
        ),
        irregular=result.irregular,
        relevant_lower_bound=result.relevant_lower_bound,
        relevant_upper_bound=result.relevant_upper_bound,
        conditional_throughput=result.conditional_throughput,
        limited_by_generator=result.limited_by_generator,
    )
