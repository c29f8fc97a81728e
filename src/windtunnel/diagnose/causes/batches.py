"""Batches of a worker that are always full and small: what a loop costs is shared by few packets."""

from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.diagnose.causes.cause import gain
from windtunnel.diagnose.model import Gain
from windtunnel.diagnose.observed import Observed
from windtunnel.engine.windows import StageWindow, Window
from windtunnel.measure.validity import Slack, call_cost, clock_ticks, full_batch, of_worker
from windtunnel.runs.metrics import add
from windtunnel.stats.mean import Estimate, jackknife

USUAL = 32
"""Packets: a scenario's own default."""


@dataclass(frozen=True)
class Loops:
    """What a worker's loops cost, and what USUAL packets a loop would bring."""

    words: str
    gain: Gain
    not_measured: list[str]


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


def loops_of(seen: Observed, slack: Slack, moved: int) -> Loops:
    """Of USUAL packets a loop in place of `moved`. Where the run does not tell what calls cost, they bring at most what they would if a loop
    cost the same whatever it moved. Raises NotMeasured."""
    account = seen.account(slack)
    work = sum(account.work(each).mean for each in seen.stages_of(slack.engine, slack.worker))
    words, part = f"it works {work:.1f} ns per message", 1 - moved / USUAL
    if calls := _calls_ns(seen, slack):
        low, high = (min(max(ns or 0.0, 0.0), work) for ns in (calls.low, calls.high))
        words += f", of which {calls.mean:.1f} ns [{low:.1f} .. {high:.1f}] go into calls before they move anything, by calls of several sizes"
        saved = Estimate(calls.mean * part, low * part, high * part)
        return Loops(words, gain(seen, slack, saved), [])
    most = min(work, seen.ns_a_message) * part
    missing = "what of it a call costs, and what a packet: all calls moved equally many"
    return Loops(words, gain(seen, slack, Estimate(most / 2, 0.0, most)), [missing])


def _calls_ns(seen: Observed, slack: Slack) -> Estimate | None:
    """What the calls of this worker that move something cost beside their packets, ns per message. None: a stage's calls all moved equally
    many, or windows are too few for an interval."""
    windows = seen.windows[slack.engine]
    messages = dict(zip((window.index for window in windows), seen.messages, strict=False))
    clock = clock_ticks([of_worker(window, slack.worker) for window in windows])
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

    found = jackknife(windows, ns_a_message)
    return found if found and found.low is not None else None


def _burst(seen: Observed, slack: Slack, stage: str) -> dict[int, int]:
    """Packets -> calls that moved as many."""
    burst = add(each.burst for window in seen.windows[slack.engine] for each in _of_stage(window, slack, stage))
    burst.pop(0, None)
    return burst


def _of_stage(window: Window, slack: Slack, stage: str) -> list[StageWindow]:
    return [each for each in of_worker(window, slack.worker)[1] if f"{each.endpoint} {each.stage}" == stage]
