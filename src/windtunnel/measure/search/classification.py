"""Bound or not: how the trials at one load stand to a goal (RFC 9971, section 6 and appendices A and B)."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from windtunnel.errors import UserError
from windtunnel.measure.search.goals import Goal
from windtunnel.measure.search.trials import TrialResult

ROUNDING = 1e-9
"""Most that a sum of durations may have left after they are subtracted one by one."""


class Bound(Enum):
    LOWER = "lower bound"
    UPPER = "upper bound"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Sums:
    """Effective durations in seconds, by length (full: at least the goal's final duration) and loss."""

    full_low: float
    full_high: float
    short_low: float
    short_high: float


def sums(goal: Goal, trials: Iterable[TrialResult]) -> Sums:
    """Sums that are the same to the last bit in any order of the trials: no classification may depend on the order."""
    parts: dict[tuple[bool, bool], list[float]] = {}
    for trial in trials:
        parts.setdefault((is_full(goal, trial), fails(goal, trial)), []).append(trial.effective_s)
    full_low, full_high, short_low, short_high = (
        math.fsum(parts.get((full, high), ())) for full in (True, False) for high in (False, True)
    )
    return Sums(full_low, full_high, short_low, short_high)


def is_full(goal: Goal, trial: TrialResult) -> bool:
    """Compares the intended duration, whatever the effective one (RFC 9971, section 4.7.1)."""
    return trial.duration_s >= goal.final_trial_duration_s


def fails(goal: Goal, trial: TrialResult) -> bool:
    """Whether it is a high-loss trial, or one that does not meet the goal's latency objective, which counts alike. Raises UserError
    for a trial without latencies if the goal has an objective."""
    if trial.loss_ratio > goal.loss_ratio:
        return True
    if goal.latency is None:
        return False
    if trial.latencies is None:
        raise UserError(
            f"goal {goal.name} has a latency objective, and the trial at {trial.load:g} has no latencies",
            remedy="a trial that gives TrialResult.latencies",
        )
    return not goal.latency.is_met(trial.latencies)


def classify(goal: Goal, trials: Iterable[TrialResult]) -> Bound:
    """The load's standing, from all its trials that count so far (RFC 9971, section 6.1).

    An upper bound fails the goal even if every missing second is low-loss, a lower bound keeps it even if every one
    is high-loss. Short trials cannot make a lower bound; their high-loss time counts as far as low-loss time of
    short trials does not make up for it.
    """
    time = sums(goal, trials)
    made_up_for = time.short_low * goal.exceed_ratio / (1 - goal.exceed_ratio)
    high = time.full_high + max(0.0, time.short_high - made_up_for)
    whole = max(time.full_low + high, goal.duration_sum_s)
    tolerated = whole * goal.exceed_ratio
    if high > tolerated:
        return Bound.UPPER
    if whole - time.full_low <= tolerated:
        return Bound.LOWER
    return Bound.UNDECIDED


def conditional_throughput(goal: Goal, load: float, trials: Iterable[TrialResult]) -> float:
    """The forwarding rate to be expected at a lower bound, per second (RFC 9971, appendix B).

    The loss ratio at the goal's quantile of the full-length trials, by time; time that is missing from the duration
    sum counts as lost altogether. (Section 6.2 leaves the missing time out; section 4.8.3 names the appendix as the
    definition.) 0 if the quantile falls into missing time, as it does without full-length trials.
    """
    full = sorted(
        (trial for trial in trials if is_full(goal, trial)), key=lambda trial: (fails(goal, trial), trial.loss_ratio)
    )
    whole = max(goal.duration_sum_s, math.fsum(trial.effective_s for trial in full))
    remaining = whole * (1 - goal.exceed_ratio)
    for trial in full:
        remaining -= trial.effective_s
        if remaining <= ROUNDING * whole:
            return load * (1 - trial.loss_ratio)
    return 0.0
