"""Batches of a worker that are always full and small: what a loop costs is shared by few packets."""

from windtunnel.diagnose.causes.cause import gain
from windtunnel.diagnose.model import Gain
from windtunnel.diagnose.observed import Observed
from windtunnel.measure.validity import Estimate, Slack, full_batch

USUAL = 32
"""Packets: a scenario's own default."""


def small(seen: Observed, slack: Slack) -> dict[str, int]:
    """Stages of the worker most of whose calls with work move all that a call can, and that less than USUAL; the smallest first."""
    plan = seen.engine(slack.engine).plan
    found = {}
    for stage in seen.stages_of(slack.engine, slack.worker):
        if stage == "client app_tx" and seen.budget_is_reached:
            continue  # it makes as many as it may
        most = full_batch(plan, *stage.split())
        burst = _burst(seen, slack, stage)
        if most < USUAL and burst.get(most, 0) > sum(burst.values()) / 2:
            found[stage] = most
    return dict(sorted(found.items(), key=lambda one: one[1]))


def work_ns(seen: Observed, slack: Slack) -> float:
    """Of the worker, a message. Raises Untold."""
    account = seen.account(slack)
    return sum(account.work(each).mean for each in seen.stages_of(slack.engine, slack.worker))


def gain_of_usual(seen: Observed, slack: Slack, moved: int) -> Gain:
    """Of USUAL packets a loop in place of `moved`: at most as if a loop cost the same whatever it moved. Raises Untold."""
    most = min(work_ns(seen, slack), seen.ns_a_message) * (1 - moved / USUAL)
    return gain(seen, slack, Estimate(most / 2, 0.0, most))


def _burst(seen: Observed, slack: Slack, stage: str) -> dict[int, int]:
    """Packets -> calls that moved as many."""
    burst: dict[int, int] = {}
    for window in seen.windows[slack.engine]:
        for each in window.stages:
            if each.worker == slack.worker and f"{each.endpoint} {each.stage}" == stage:
                for size, count in each.burst.items():
                    burst[size] = burst.get(size, 0) + count
    burst.pop(0, None)
    return burst
