"""The probable limit of a goal: a hint for the next load, never a part of a result."""

from collections.abc import Sequence

from windtunnel.measure.search.classification import fails
from windtunnel.measure.search.goals import Goal
from windtunnel.measure.search.trials import TrialResult

NEAR = 5
"""Widths above the known bound: what a device carries when it is overloaded further says little about its limit."""
SATURATED = 0.1
"""A loss of at least this share of the goal's loss ratio shows a device at its limit; smaller ones may be mere noise."""
EVEN = 1e-9
"""Least difference of two shares: more than the rounding errors of a product."""


def estimate(goal: Goal, trials: Sequence[TrialResult], upper: float | None) -> float | None:
    """The load per second that as many trials would carry as the goal asks for; None if they do not tell. `upper`
    is the known upper bound, or None.

    A device at its limit carries what it can: its forwarding rate tells the load at which it would have lost just as
    much as the goal allows. A trial without loss says "at least this load". The quantile of such values, some of
    them only "at least", is the product-limit estimate (Kaplan and Meier, Nonparametric Estimation from Incomplete
    Observations, JASA 53, 1958), here weighted by the trials' time, so that full trials outweigh short ones.

    If latency fails before loss does, what is carried does not tell the limit: None.
    """
    if goal.latency and any(t.loss_ratio <= goal.loss_ratio * SATURATED and fails(goal, t) for t in trials):
        return None
    saturated = [trial for trial in trials if trial.loss_ratio > goal.loss_ratio * SATURATED]
    if not saturated:
        return None
    farthest = (upper or min(trial.load for trial in saturated)) * (1 + NEAR * goal.width)
    carried = [
        (trial.forwarding_rate / (1 - goal.loss_ratio), 0, trial.effective_s)
        for trial in saturated
        if trial.load <= farthest
    ]
    at_least = [(t.load, 1, t.effective_s) for t in trials if t.loss_ratio <= goal.loss_ratio * SATURATED]
    at_risk, surviving = sum(weight for *_, weight in carried + at_least), 1.0
    for load, is_at_least, weight in sorted(carried + at_least):
        if not is_at_least:
            surviving *= 1 - weight / at_risk
            if surviving < 1 - goal.exceed_ratio - EVEN:
                return load
        at_risk -= weight
    return None
