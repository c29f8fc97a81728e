"""Where a goal's limit probably lies: a hint for the next load, never a part of a result."""

from collections.abc import Sequence

from windtunnel.measure.search.goals import Goal
from windtunnel.measure.search.trials import TrialResult

NEAR = 1.1
"""Trials further above the known bounds than this say more about overload than about the limit."""
SATURATED = 0.1
"""A loss of at least this share of the goal's loss ratio shows a device at its limit; smaller ones may be mere noise."""
EVEN = 1e-9
"""Rounding errors of a product of shares stay below."""


def estimate(goal: Goal, trials: Sequence[TrialResult], upper: float | None) -> float | None:
    """The load per second that the goal's share of trials would carry, from all trials up to `upper` (the known upper bound, or
    None) and a little above; None where they do not tell.

    A device at its limit carries what it can: its forwarding rate says how much load it would have carried within the goal's
    loss ratio. A trial without loss says "at least its load". The quantile of such values, some of them only "at least", is the
    product-limit estimate (Kaplan and Meier, Nonparametric Estimation from Incomplete Observations, JASA 53, 1958), weighted by
    the trials' time, so that full trials outweigh short ones.
    """
    saturated = [trial for trial in trials if trial.loss_ratio > goal.loss_ratio * SATURATED]
    if not saturated:
        return None
    nearest = upper or min(trial.load for trial in saturated)
    carried = [
        (trial.forwarding_rate / (1 - goal.loss_ratio), 0, trial.effective_s)
        for trial in saturated
        if trial.load <= nearest * NEAR
    ]
    at_least = [(trial.load, 1, trial.effective_s) for trial in trials if trial.loss_ratio <= goal.loss_ratio * SATURATED]
    at_risk, surviving = sum(weight for *_, weight in carried + at_least), 1.0
    for load, is_at_least, weight in sorted(carried + at_least):
        if not is_at_least:
            surviving *= 1 - weight / at_risk
            if surviving < 1 - goal.exceed_ratio - EVEN:
                return load
        at_risk -= weight
    return None
