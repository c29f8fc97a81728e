"""Small batches: what a call costs before it moves anything is shared by few packets."""

from collections.abc import Sequence

from windtunnel.diagnose.causes.cause import Case, Check, gain
from windtunnel.diagnose.model import Limit
from windtunnel.diagnose.observed import Observed
from windtunnel.engine.lines import StageWindow, Window, WorkerWindow
from windtunnel.measure.validity import Estimate, Slack, call_cost, clock_ticks, over_windows

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
    part = 1 - most / USUAL
    evidence = (
        f"most calls of {stage} that move something move {most}, its largest batch, so a loop of its worker moves few: it works "
        f"{work:.1f} ns a message"
    )
    untold = []
    if calls := _calls_ns(seen, slack):
        evidence += f", of which {_ns(calls)} go into calls before they move anything, by calls of several sizes"
        saved = Estimate(calls.mean * part, _within(calls.low, work) * part, _within(calls.high, work) * part)
    else:  # at most: if a loop cost the same whatever it moves
        saved = Estimate(work * part / 2, 0.0, work * part)
        untold = ["what of it a call costs, and what a packet: all calls moved equally many. --probe tries it"]
    return Case(
        evidence=evidence,
        remedy=f"a larger batch of {stage}: up to {USUAL} packets share what a loop costs",
        sets=[f"{side}.batch.{name}={USUAL}"],
        gain=gain(seen, slack, saved),
        untold=untold,
    )


def _calls_ns(seen: Observed, slack: Slack) -> Estimate | None:
    """What the calls of this worker that move something cost beside their packets, ns a message. None: a stage's calls all moved equally
    many, or windows are too few for an interval."""
    windows = seen.windows[slack.engine]
    messages = dict(zip((window.index for window in windows), seen.messages, strict=False))
    clock = clock_ticks([_timed(window, slack) for window in windows])
    tick_ns = seen.tick_ns(slack.engine)

    def ns_a_message(some: Sequence[Window]) -> float | None:
        ticks = 0.0
        for stage in seen.stages_of(slack.engine, slack.worker):
            stages = [each for window in some for each in _of_stage(window, slack, stage)]
            cost = call_cost(stages)
            if cost is None:
                return None
            ticks += (cost.call - clock) * sum(s.calls - s.empty_calls - s.stalled_calls for s in stages)
        moved = sum(messages.get(window.index, 0) for window in some)
        return ticks * tick_ns / moved if moved else None

    found = over_windows(windows, ns_a_message)
    return found if found and found.low is not None else None


def _within(ns: float | None, most: float) -> float:
    return min(max(ns or 0.0, 0.0), most)


def _ns(found: Estimate) -> str:
    return f"{found.mean:.1f} ns [{found.low:.1f} .. {found.high:.1f}]"


def _full(seen: Observed, slack: Slack, stage: str) -> int | None:
    """The largest batch of the stage where most of its calls with work have it, else None."""
    side, name = stage.split()
    burst: dict[int, int] = {}
    for each in (each for window in seen.windows[slack.engine] for each in _of_stage(window, slack, stage)):
        for size, count in each.burst.items():
            burst[size] = burst.get(size, 0) + count
    burst.pop(0, None)
    most = int(getattr(seen.endpoint(side).batch, name))
    return most if burst and burst.get(most, 0) > sum(burst.values()) / 2 else None


def _timed(window: Window, slack: Slack) -> tuple[WorkerWindow, list[StageWindow]]:
    (worker,) = (each for each in window.workers if each.worker == slack.worker)
    return worker, [stage for stage in window.stages if stage.worker == slack.worker]


def _of_stage(window: Window, slack: Slack, stage: str) -> list[StageWindow]:
    return [each for each in _timed(window, slack)[1] if f"{each.endpoint} {each.stage}" == stage]


CAUSE = Check("small-batches", "few packets share what a loop costs", _find)
