"""Small batches: what a call costs before it moves anything is shared by few packets."""

from windtunnel.diagnose.causes.cause import Case, Check, gain
from windtunnel.diagnose.model import Limit
from windtunnel.diagnose.observed import Observed
from windtunnel.engine.lines import StageWindow
from windtunnel.measure.validity import Estimate, Slack

USUAL = 32
"""Packets: a scenario's own default."""


def _find(seen: Observed, limit: Limit) -> Case | None:
    cases = [case for slack in seen.of_limit(limit) if (case := _of_worker(seen, slack))]
    return cases[0] if cases else None


def _of_worker(seen: Observed, slack: Slack) -> Case | None:
    full = [(of, most) for of in seen.stages_of(slack.engine, slack.worker) if (most := _full(seen, slack, of))]
    if not full:
        return None
    stage, most = min(full, key=lambda one: one[1])
    if most >= USUAL:
        return None
    side, name = stage.split()
    account = seen.account(slack)
    work = sum(account.work(each).mean for each in seen.stages_of(slack.engine, slack.worker))
    part = 1 - most / USUAL  # at most: if a loop cost the same whatever it moves
    return Case(
        evidence=f"most calls of {stage} that move something move {most}, its largest batch, so a loop of its worker moves few: it works {work:.1f} ns a message",
        remedy=f"a larger batch of {stage}: up to {USUAL} packets share what a loop costs",
        sets=[f"{side}.batch.{name}={USUAL}"],
        gain=gain(seen, slack, Estimate(work * part / 2, 0.0, work * part)),
        untold=["what of it a call costs, and what a packet: --probe tries it"],
    )


def _full(seen: Observed, slack: Slack, stage: str) -> int | None:
    """The largest batch of the stage where most of its calls with work have it, else None."""
    side, name = stage.split()
    burst: dict[int, int] = {}
    for each in _windows(seen, slack, stage):
        for size, count in each.burst.items():
            burst[size] = burst.get(size, 0) + count
    burst.pop(0, None)
    most = int(getattr(seen.endpoint(side).batch, name))
    return most if burst and burst.get(most, 0) > sum(burst.values()) / 2 else None


def _windows(seen: Observed, slack: Slack, stage: str) -> list[StageWindow]:
    every = (each for window in seen.windows[slack.engine] for each in window.stages)
    return [each for each in every if each.worker == slack.worker and f"{each.endpoint} {each.stage}" == stage]


CAUSE = Check("small-batches", "few packets share what a loop costs", _find)
