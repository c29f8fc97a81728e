"""The reference of searches: MLRsearch 1.2.1 from PyPI, by the authors of RFC 9971, on our devices and goals."""

from collections.abc import Sequence
from dataclasses import dataclass

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal
from MLRsearch.target_spec import TargetSpec
from MLRsearch.target_stat import TargetStat

from windtunnel.measure.search import Bound, Goal, Limits, Measure, TrialResult

PRECEDING_TARGETS = 2
"""Its default, which is also what FD.io CSIT runs with."""


@dataclass
class Measurer(AbstractMeasurer):
    """Its measurer on our callable; keeps the trials."""

    device: Measure
    trials: list[TrialResult]

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        trial = self.device(intended_load, intended_duration)
        self.trials.append(trial)
        return measurement(trial)


@dataclass(frozen=True)
class Found:
    """Relevant bounds of each goal, per second, None where there is none; and the trials that they took."""

    bounds: tuple[tuple[float | None, float | None], ...]
    trials: tuple[TrialResult, ...]


def search(device: Measure, goals: Sequence[Goal], limits: Limits) -> Found:
    """Without its warm-up trial and its time limit, which is one of real time."""
    config = Config()
    config.goals = [_goal(goal) for goal in goals]
    config.max_load, config.min_load = limits.max_load, limits.min_load
    config.warmup_duration, config.search_duration_max = None, 1e9
    measurer = Measurer(device, [])
    results = MultipleLossRatioSearch(config).search(measurer, debug=lambda text: None)
    bounds = [(results[goal].relevant_lower_bound, results[goal].relevant_upper_bound) for goal in config.goals]
    loads = tuple(tuple(None if load is None else float(load) for load in pair) for pair in bounds)
    return Found(loads, tuple(measurer.trials))


def classify(goal: Goal, trials: Sequence[TrialResult]) -> Bound:
    """What it takes a load for."""
    stat = _stat(goal, trials)
    optimistic, pessimistic = stat.estimates()
    if optimistic != pessimistic:
        return Bound.UNDECIDED
    return Bound.LOWER if optimistic else Bound.UPPER


def quantile_loss_ratio(goal: Goal, trials: Sequence[TrialResult]) -> float:
    """The loss ratio that its conditional throughput is made of."""
    return _stat(goal, trials).pessimistic_loss_ratio


def measurement(trial: TrialResult) -> MeasurementResult:
    return MeasurementResult(
        intended_duration=trial.duration_s,
        intended_load=trial.load,
        offered_count=trial.sent,
        forwarding_count=trial.forwarded,
        intended_count=trial.intended,
        duration_with_overheads=trial.effective_s,
    )


def _goal(goal: Goal) -> SearchGoal:
    return SearchGoal(
        loss_ratio=goal.loss_ratio,
        exceed_ratio=goal.exceed_ratio,
        relative_width=goal.width,
        initial_trial_duration=goal.initial_trial_duration_s,
        final_trial_duration=goal.final_trial_duration_s,
        duration_sum=goal.duration_sum_s,
        preceding_targets=PRECEDING_TARGETS if goal.initial_trial_duration_s < goal.duration_sum_s else 0,
        fail_fast=False,
    )


def _stat(goal: Goal, trials: Sequence[TrialResult]) -> TargetStat:
    target = TargetSpec(
        loss_ratio=goal.loss_ratio,
        exceed_ratio=goal.exceed_ratio,
        discrete_width=None,
        trial_duration=goal.final_trial_duration_s,
        duration_sum=goal.duration_sum_s,
        expansion_coefficient=2,
        fail_fast=False,
        preceding=None,
    )
    stat = TargetStat(target)
    for trial in trials:
        stat.add(measurement(trial))
    return stat
