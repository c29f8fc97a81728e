"""The search that RFC 2544 is run with: one trial at a load, halving in between."""

from dataclasses import replace

from windtunnel.measure.search.controller import OnTrial
from windtunnel.measure.search.goals import THROUGHPUT, Goal, Limits
from windtunnel.measure.search.results import SearchResult, goal_result
from windtunnel.measure.search.trial_log import Log
from windtunnel.measure.search.trials import Measure, TrialResult


def binary_search(
    measure: Measure, limits: Limits, goal: Goal = THROUGHPUT, on_trial: OnTrial | None = None
) -> SearchResult:
    """The greatest load whose one trial of the goal's final duration loses no more than the goal allows (RFC 2544,
    section 26.1; the search as RFC 9971, section 5.1 describes it): both limits first, then the arithmetic middle,
    until the width is reached.

    Of the goal, only its loss ratio, latency objective, width and final duration matter: each load has one trial, which decides it. The
    relevant lower bound is the throughput. Raises TrialFailed.
    """
    duration_s = goal.final_trial_duration_s
    single = replace(goal, exceed_ratio=0.0, initial_trial_duration_s=duration_s, duration_sum_s=duration_s)
    log = Log(measure, limits)

    def tell(trial: TrialResult) -> None:
        if on_trial is not None:
            on_trial(trial, (goal_result(single, limits, log.trials, None),))

    load: float | None = limits.max_load
    stopped: str | None = None
    while load is not None and stopped is None:
        stopped = log.run(load, duration_s, tell)
        load = _next(single, limits, log)
    return SearchResult(
        (goal_result(single, limits, log.trials, stopped),), tuple(log.finished), log.elapsed_s, stopped
    )


def _next(goal: Goal, limits: Limits, log: Log) -> float | None:
    bounds = log.trials.bounds(goal)
    if bounds.upper is None or bounds.upper == limits.min_load:
        return None
    if bounds.lower is None:
        return limits.min_load
    narrow = bounds.width is not None and bounds.width <= goal.width
    return None if narrow else (bounds.lower + bounds.upper) / 2
