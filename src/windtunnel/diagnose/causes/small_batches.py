"""Small batches: what a call costs before it moves anything is shared by few packets."""

from windtunnel.diagnose.causes.cause import Case, Check, gain
from windtunnel.diagnose.model import Limit
from windtunnel.diagnose.observed import Observed
from windtunnel.engine.lines import StageWindow
from windtunnel.measure.validity import Estimate, Slack, estimate

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
    side, name = stage.split()
    wanted = max(USUAL, 2 * most)
    calls = [_loop_ns(seen, slack, n) for n in range(seen.count)]
    known = [ns for ns in calls if ns is not None]
    if not known:
        return None
    loop = estimate(known)
    packets = seen.packets_a_message(slack, stage)
    part = packets * (1 / most - 1 / wanted)
    saved = Estimate(loop.mean * part, loop.low and loop.low * part, loop.high and loop.high * part)
    return Case(
        evidence=(
            f"most calls of {stage} that move something move {most}, its largest batch; a loop of the worker that moves nothing takes "
            f"{loop.mean:.0f} ns, {loop.mean * packets / most:.1f} ns a message"
        ),
        remedy=f"a larger batch of {stage}: up to {wanted} packets share what a loop costs",
        sets=[f"{side}.batch.{name}={wanted}"],
        gain=gain(seen, slack, saved),
        untold=["what a call with work costs beyond one without: the gain is the least. --probe measures it"],
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


def _loop_ns(seen: Observed, slack: Slack, window: int) -> float | None:
    """What a loop takes in which no stage moves anything; None where a stage has no such call."""
    tick_ns, total = seen.tick_ns(slack.engine), 0.0
    for stage in seen.windows[slack.engine][window].stages:
        if stage.worker == slack.worker and stage.calls:
            in_vain = (stage.empty_calls + stage.stalled_calls) * stage.timed_calls / stage.calls
            if not in_vain:
                return None
            total += (stage.idle_cycles + stage.stall_cycles) / in_vain * tick_ns
    return total


CAUSE = Check("small-batches", "few packets share what a loop costs", _find)
