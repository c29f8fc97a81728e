"""What limits, by experiment: stages are delayed, and remedies are tried, between the windows of one run.

A delay of a worker that limits makes every message as much later. A delay of a worker that waits is taken from its slack first: so the
time of a message is T + max(0, delay - slack). The worker whose delays arrive most limits, if more than half of them arrives; a worker that
cannot be told apart from it makes a tie. On one worker it is the same for all stages: slopes find the worker, shares of its work find the stage. In each
block of windows every variant runs once, so each window is compared with that of its own block.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from windtunnel.engine.plan import Variant
from windtunnel.measure.validity import Slack
from windtunnel.measure.variants import BATCHES, INFLIGHT, variant
from windtunnel.parts.diagnose.alone import alone
from windtunnel.parts.diagnose.blocks import Blocks, Series, variants_of
from windtunnel.parts.diagnose.causes import inflight
from windtunnel.parts.diagnose.delays import LATER, Delayed, delayed, variants_alone
from windtunnel.parts.diagnose.limits import describe_worker
from windtunnel.parts.diagnose.model import (
    Diagnosis,
    Experiment,
    Interval,
    Kind,
    Limit,
    Remedy,
    Slope,
    WorkerSeen,
)
from windtunnel.parts.diagnose.observation import Observation
from windtunnel.parts.diagnose.turns import remedies_in_turns
from windtunnel.runs import Run

REMEDY = "remedy: "
"""How names of variants begin that try a remedy."""


def variants_for(diagnosis: Diagnosis, observation: Observation, more_in_flight: bool = False) -> list[Variant]:
    """Delays of each kind of worker, each kind alone, and the remedies that one run can try. `diagnosis`: the diagnosis of a short run of the same scenario.
    `more_in_flight`: try more messages in flight, whether they are the remedy of a cause or not. With few in flight every call costs more, which no
    record shows."""
    delays = delayed(diagnosis.workers)
    variants = [later for delay in delays for later in delay.variants(observation)]
    variants += variants_alone(delays, observation)
    for cause in diagnosis.causes:
        if values := values_within_a_run(cause.sets):
            variants.append(variant(f"{REMEDY}{cause.code}", values))
    name, more = f"{REMEDY}{inflight.CAUSE.code}", inflight.more(observation.budget)
    if more_in_flight and more and all(existing.name != name for existing in variants):
        variants.append(variant(name, {INFLIGHT: more}))
    return variants


def is_experiment(run: Run) -> bool:
    """Whether the run's variants are those of an experiment."""
    return any(variant_.name.endswith(LATER) for variant_ in variants_of(run))


def experiment(run: Run, observation: Observation, workers: Sequence[WorkerSeen]) -> Experiment:
    """What the variants of an experiment show. `run`: as it was recorded, with what was changed. Raises NotMeasured without messages."""
    blocks = Blocks.from_run(run)
    variants = variants_of(run)
    by_stage: dict[str, list[int]] = {}
    for number, variant_ in enumerate(variants):
        for delay in variant_.delays if variant_.name.endswith(LATER) else ():
            by_stage.setdefault(f"{delay.endpoint} {delay.stage}", []).append(number)
    delay_sets = []
    for stage, numbers in by_stage.items():
        of_stage = tuple(worker for worker in workers if stage in worker.stages)
        if of_stage:
            delay_sets.append(_DelaySet(Delayed(of_stage, stage), numbers, blocks.delays[numbers]))
    remedies = [
        Remedy(code=variant_.name.removeprefix(REMEDY), sets=list(_sets(variant_)), gain=blocks.gain(number))
        for number, variant_ in enumerate(variants)
        if variant_.name.startswith(REMEDY)
    ]
    remedies += remedies_in_turns(run)
    limiting = _limiting(delay_sets, blocks)
    slopes = [_slope(observation, delay_set, blocks, limiting) for delay_set in delay_sets]
    return Experiment(
        blocks=blocks.count,
        ns_a_message=blocks.ns_a_message,
        slopes=slopes,
        remedies=remedies,
        alone=alone(run, observation, workers),
        limit=_limit(observation, slopes, limiting, remedies, blocks.count),
    )


@dataclass(frozen=True)
class _DelaySet:
    """Delays of one kind of worker: their variants, and what they were, ns per message, as counted."""

    delayed: Delayed
    variants: list[int]
    delays: Series

    def slope(self, growth: Series) -> Series:
        """Least squares through the origin. The last axis of `growth` is that of all variants."""
        alike = len(self.delayed.workers)
        return np.asarray(alike * (growth[..., self.variants] @ self.delays) / (self.delays @ self.delays))

    def slack(self, growth: Series) -> Series:
        """ns per message; at most the longest delay."""
        longest = self.delays[-1]
        grew = len(self.delayed.workers) * growth[..., self.variants[-1]]
        return np.asarray(np.clip(longest - grew, 0.0, longest))


def _limiting(delay_sets: Sequence[_DelaySet], blocks: Blocks) -> list[_DelaySet] | None:
    """The delays of which most arrives, and more than half, and those that cannot be told apart from them: more than half arrives, and the
    slope is not less in the same blocks, or the slack may be 0. Empty: no delay arrives so; None: these blocks cannot tell."""
    if not delay_sets or blocks.resampled_growth is None:
        return None
    first = max(delay_sets, key=lambda delay_set: float(delay_set.slope(blocks.growth)))
    slope = blocks.interval(first.slope)
    if slope.low is None or slope.high is None or slope.low <= 0.5 <= slope.high:
        return None
    if slope.high < 0.5:
        return []
    return [
        first,
        *(
            delay_set
            for delay_set in delay_sets
            if delay_set is not first and _cannot_be_told_from(delay_set, first, blocks)
        ),
    ]


def _cannot_be_told_from(delay_set: _DelaySet, first: _DelaySet, blocks: Blocks) -> bool:
    low = blocks.interval(delay_set.slope).low
    if low is None or low <= 0.5:
        return False
    less = blocks.interval(lambda growth: np.asarray(first.slope(growth) - delay_set.slope(growth))).low
    return blocks.interval(delay_set.slack).low == 0.0 or less is None or less <= 0


def _slope(
    observation: Observation, delay_set: _DelaySet, blocks: Blocks, limiting: Sequence[_DelaySet] | None
) -> Slope:
    slack, message_ns = blocks.interval(delay_set.slack), blocks.ns_a_message
    workers = delay_set.delayed.workers
    return Slope(
        workers=[worker.worker for worker in workers],
        sides=workers[0].sides,
        stage=delay_set.delayed.stage,
        delays_ns=delay_set.delays.tolist(),
        grew_ns=blocks.growth[delay_set.variants].tolist(),
        slope=blocks.interval(delay_set.slope),
        slack_ns=slack,
        implied_ns=Interval(
            mean=message_ns - slack.mean,
            low=None if slack.high is None else message_ns - slack.high,
            high=None if slack.low is None else message_ns - slack.low,
        ),
        accounted_ns=message_ns
        * (1 - next(slack for slack in observation.slacks if _is_of(slack, workers[0])).waiting.mean),
        limits=None if limiting is None else any(delay_set is limiting_set for limiting_set in limiting),
    )


def _limit(
    observation: Observation,
    slopes: Sequence[Slope],
    limiting: Sequence[_DelaySet] | None,
    remedies: Sequence[Remedy],
    blocks: int,
) -> Limit:
    """What limits, by the slopes."""
    evidence = [_slope_sentence(slope) for slope in slopes]
    evidence += [remedy.sentence for remedy in remedies]
    if limiting is None:
        sentence = f"the slopes cannot tell what limits: {blocks} blocks of windows are too few, or the host too busy"
        return Limit(kind="unknown", workers=[], engines=[], stage=None, words=sentence, evidence=evidence)
    if not limiting:
        return _outside(remedies, evidence)
    workers = [worker for delay_set in limiting for worker in delay_set.delayed.workers]
    worker_texts = [
        describe_worker(slack) for worker in workers for slack in observation.slacks if _is_of(slack, worker)
    ]
    numbers, engines = [worker.worker for worker in workers], [worker.engine for worker in workers]
    if len(limiting) > 1:
        sentence = f"a tie: a delay of {' or of '.join(worker_texts)} makes every message later"
        return Limit(kind="tie", workers=numbers, engines=engines, stage=None, words=sentence, evidence=evidence)
    kind: Kind = "generator" if workers[0].sides == "client" else "worker"
    sentence = f"{' and '.join(worker_texts)} {'limits' if len(worker_texts) == 1 else 'limit alike'}: most of a delay there arrives"
    sentence = f"the generator limits: {sentence}" if kind == "generator" else sentence
    return Limit(
        kind=kind,
        workers=numbers,
        engines=engines,
        stage=next(iter(workers[0].stages), None),
        words=sentence,
        evidence=evidence,
    )


def _outside(remedies: Sequence[Remedy], evidence: list[str]) -> Limit:
    """No worker limits: more messages in flight show whether they were too few."""
    more = next((remedy.gain for remedy in remedies if remedy.code == inflight.CAUSE.code), None)
    kind: Kind = "unknown"
    sentence = "no worker limits: most of a delay does not arrive. What does is not known"
    if more is not None and more.low is not None:
        kind, sentence = (
            "link",
            "a link limits, or the load: neither a delay nor more messages in flight change the rate much",
        )
        if more.low > 0:
            kind, sentence = "in-flight", "too few messages in flight limit: with more of them the rate rises"
    return Limit(kind=kind, workers=[], engines=[], stage=None, words=sentence, evidence=evidence)


def _slope_sentence(slope: Slope) -> str:
    delays = " and ".join(f"{ns:.1f}" for ns in slope.delays_ns)
    grew = " and ".join(f"{ns:.1f}" for ns in slope.grew_ns)
    return f"{slope.stage} {delays} ns later a message: it takes {grew} ns longer, slope {_interval_text(slope.slope)}"


def _interval_text(interval: Interval) -> str:
    return f"{interval.mean:.2f}" + ("" if interval.low is None else f" [{interval.low:.2f} .. {interval.high:.2f}]")


def values_within_a_run(sets: Sequence[str]) -> dict[str, int]:
    """The remedy as keys and values; empty if it cannot be tried within a run."""
    values = dict(text.split("=", 1) for text in sets)
    return {key: int(value) for key, value in values.items()} if values.keys() <= {INFLIGHT, *BATCHES} else {}


def _sets(variant_: Variant) -> Iterator[str]:
    yield from (
        f"{side}.batch.{stage}={size}" for side, sizes in variant_.batch.items() for stage, size in sizes.items()
    )
    if variant_.inflight is not None:
        yield f"{INFLIGHT}={variant_.inflight}"


def _is_of(slack: Slack, worker: WorkerSeen) -> bool:
    return (slack.engine, slack.worker) == (worker.engine, worker.worker)
