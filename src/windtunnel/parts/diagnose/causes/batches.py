"""Batches of a worker that are always full and small: what a loop costs is shared by few packets."""

from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.engine.windows import StageWindow, Window
from windtunnel.measure.validity import Slack, call_cost, clock_ticks, full_batch, timed_worker
from windtunnel.parts.diagnose.cause import Relief
from windtunnel.parts.diagnose.observation import Observation
from windtunnel.runs.metrics import add
from windtunnel.stats.mean import Estimate, jackknife

USUAL = 32
"""Packets: the default batch of a scenario."""


@dataclass(frozen=True)
class Loops:
    """What a worker's loops cost, and what USUAL packets a loop would save."""

    sentence: str
    relief: Relief
    not_measured: list[str]


def small_batches(observation: Observation, slack: Slack) -> dict[str, int]:
    """Stages of the worker most of whose calls with work move all that a call can, and that less than USUAL; the smallest first."""
    plan = observation.engine(slack.engine).plan
    most_by_stage = {}
    for stage in observation.stages_of(slack.engine, slack.worker):
        if stage == "client app_tx" and observation.budget_is_reached:
            continue  # it makes as many as it may
        most = full_batch(plan, *stage.split())
        burst = _burst(observation, slack, stage)
        if most < USUAL and burst.get(most, 0) > sum(burst.values()) / 2:
            most_by_stage[stage] = most
    return dict(sorted(most_by_stage.items(), key=lambda stage_and_most: stage_and_most[1]))


def cost_of_loops(observation: Observation, slack: Slack, moved: int) -> Loops:
    """What USUAL packets per loop save in place of `moved`. If the run does not show what calls cost, it is at most what it would be if a
    loop cost the same whatever it moved. Raises NotMeasured."""
    account = observation.account(slack)
    work = sum(account.work(stage).mean for stage in observation.stages_of(slack.engine, slack.worker))
    sentence, part = f"it works {work:.1f} ns per message", 1 - moved / USUAL
    if calls := _calls_ns(observation, slack):
        low, high = (min(max(ns or 0.0, 0.0), work) for ns in (calls.low, calls.high))
        sentence += f", of which {calls.mean:.1f} ns [{low:.1f} .. {high:.1f}] go into calls before they move anything, by calls of several sizes"
        saved = Estimate(calls.mean * part, low * part, high * part)
        return Loops(sentence, Relief(slack, saved), [])
    most = min(work, observation.ns_a_message) * part
    missing = "what of it a call costs, and what a packet: all calls moved equally many"
    return Loops(sentence, Relief(slack, Estimate(most / 2, 0.0, most)), [missing])


def _calls_ns(observation: Observation, slack: Slack) -> Estimate | None:
    """What the calls of this worker that move something cost beside their packets, ns per message. None: a stage's calls all moved equally
    many, or windows are too few for an interval."""
    windows = observation.windows[slack.engine]
    messages = dict(zip((window.index for window in windows), observation.messages, strict=False))
    clock = clock_ticks([timed_worker(window, slack.worker) for window in windows])
    tick_ns = observation.tick_ns(slack.engine)

    def ns_a_message(resampled: Sequence[Window]) -> float | None:
        ticks = 0.0
        for stage in observation.stages_of(slack.engine, slack.worker):
            stages = [row for window in resampled for row in _stage_rows(window, slack, stage)]
            cost = call_cost(stages)
            if cost is None:
                return None
            ticks += (cost.call - clock) * sum(s.calls - s.empty_calls - s.stalled_calls for s in stages)
        moved = sum(messages.get(window.index, 0) for window in resampled)
        return ticks * tick_ns / moved if moved else None

    estimate = jackknife(windows, ns_a_message)
    return estimate if estimate and estimate.low is not None else None


def _burst(observation: Observation, slack: Slack, stage: str) -> dict[int, int]:
    """Number of packets -> calls that moved as many."""
    burst = add(row.burst for window in observation.windows[slack.engine] for row in _stage_rows(window, slack, stage))
    burst.pop(0, None)
    return burst


def _stage_rows(window: Window, slack: Slack, stage: str) -> list[StageWindow]:
    return [row for row in timed_worker(window, slack.worker)[1] if f"{row.endpoint} {row.stage}" == stage]
