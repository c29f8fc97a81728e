"""What limits, by experiment: stages are delayed, and remedies are tried, between the windows of one run.

A delay of a worker that limits makes every message as much later. A delay of a worker that waits is taken from its slack first: so the
time of a message is T + max(0, delay - slack). The worker limits of whose delays most arrives, if it is more than half; a worker that
cannot be told from it makes a tie. On one worker it is the same for all stages: slopes find the worker, shares of its work find the stage. In each
block of windows every variant runs once, so each window is compared with that of its own block.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from windtunnel.diagnose.causes import inflight
from windtunnel.diagnose.limits import who
from windtunnel.diagnose.model import (
    Diagnosis,
    Experiment,
    Interval,
    Kind,
    Limit,
    Remedy,
    Slope,
    WorkerSeen,
)
from windtunnel.diagnose.observed import Observed
from windtunnel.engine.plan import Delay, Variant
from windtunnel.finding import require
from windtunnel.measure.validity import Slack
from windtunnel.measure.variants import BATCHES, INFLIGHT, variant
from windtunnel.runs import Run
from windtunnel.runs.metrics import VARIED, measured
from windtunnel.runs.variants import delay_cycles, messages
from windtunnel.stats.bootstrap import medians, medians_again, middle_part

PARTS = (0.1, 0.3)
"""Delays, as parts of what a message takes."""
REMEDY, LATER = "remedy: ", " later"
"""In the names of variants."""
NO_WINDOW = "the experiment: no window of the scenario as it is counts"
Series = NDArray[np.float64]
Statistic = Callable[[Series], Series]
"""Of medians; the last axis is that of the variants."""


@dataclass(frozen=True)
class Delayed:
    """Workers that run the same stages, and the one of these that is delayed."""

    workers: tuple[WorkerSeen, ...]
    stage: str

    def variants(self, ns_a_message: float, packets: float) -> list[Variant]:
        """`packets` of the stage, a message."""
        side, stage = self.stage.split()
        return [
            variant(
                f"{self.stage} {part:.0%}{LATER}",
                delays=[
                    Delay.model_validate(
                        {"endpoint": side, "stage": stage, "ns": round(part * ns_a_message / packets, 1)}
                    )
                ],
            )
            for part in PARTS
        ]


def delayed(workers: Sequence[WorkerSeen]) -> list[Delayed]:
    """One for each kind of worker: its stage with the most work, of those that no other kind runs, if it has any."""
    kinds: dict[frozenset[str], list[WorkerSeen]] = {}
    for worker in workers:
        kinds.setdefault(frozenset(worker.stages), []).append(worker)
    found = []
    for stages, of_kind in kinds.items():
        others = {stage for each in kinds for stage in each if each != stages}
        own = [stage for stage in of_kind[0].stages if stage not in others] or list(of_kind[0].stages)
        if own:
            found.append(Delayed(tuple(of_kind), own[0]))
    return found


def variants_for(found: Diagnosis, seen: Observed, more_in_flight: bool = False) -> list[Variant]:
    """Delays of each kind of worker, and the remedies that one run can try. `found`: the diagnosis of a short run of the same scenario.
    `more_in_flight`: try these too, whether they are the remedy of a cause or not. With few in flight every call costs more, which no
    record shows."""
    variants = []
    for each in delayed(found.workers):
        slack = next(slack for slack in seen.slacks if _is(slack, each.workers[0]))
        variants += each.variants(seen.ns_a_message, seen.packets_a_message(slack, each.stage))
    for cause in found.causes:
        if values := _values(cause.sets):
            variants.append(variant(f"{REMEDY}{cause.code}", values))
    name, more = f"{REMEDY}{inflight.CAUSE.code}", inflight.more(seen.budget)
    if more_in_flight and more and all(each.name != name for each in variants):
        variants.append(variant(name, {INFLIGHT: more}))
    return variants


def is_experiment(run: Run) -> bool:
    """Whether its variants are those of an experiment."""
    return any(each.name.endswith(LATER) for each in _variants(run))


def experiment(run: Run, seen: Observed, workers: Sequence[WorkerSeen]) -> Experiment:
    """What the variants of an experiment show. `run` as it was recorded: with what was changed. Raises NotMeasured without messages."""
    blocks = Blocks.of(run)
    variants = _variants(run)
    by_stage: dict[str, list[int]] = {}
    for number, each in enumerate(variants):
        for delay in each.delays if each.name.endswith(LATER) else ():
            by_stage.setdefault(f"{delay.endpoint} {delay.stage}", []).append(number)
    tried = []
    for stage, numbers in by_stage.items():
        of_stage = tuple(worker for worker in workers if stage in worker.stages)
        if of_stage:
            tried.append(_Tried(Delayed(of_stage, stage), numbers, blocks.delays[numbers]))
    remedies = [
        Remedy(code=each.name.removeprefix(REMEDY), sets=list(_sets(each)), gain=blocks.gain(number))
        for number, each in enumerate(variants)
        if each.name.startswith(REMEDY)
    ]
    limiting = _limiting(tried, blocks)
    slopes = [_slope(seen, each, blocks, limiting) for each in tried]
    return Experiment(
        blocks=blocks.count,
        ns_a_message=blocks.ns_a_message,
        slopes=slopes,
        remedies=remedies,
        limit=_limit(seen, slopes, limiting, remedies, blocks.count),
    )


@dataclass(frozen=True)
class _Tried:
    """Delays of one kind of worker: their variants, and what they were, ns per message, as counted."""

    of: Delayed
    variants: list[int]
    delays: Series

    def slope(self, growth: Series) -> Series:
        """Least squares through the origin. The last axis of `growth` is that of all variants."""
        alike = len(self.of.workers)
        return np.asarray(alike * (growth[..., self.variants] @ self.delays) / (self.delays @ self.delays))

    def slack(self, growth: Series) -> Series:
        """ns per message; at most the longest delay."""
        longest = self.delays[-1]
        grew = len(self.of.workers) * growth[..., self.variants[-1]]
        return np.asarray(np.clip(longest - grew, 0.0, longest))


@dataclass(frozen=True)
class Blocks:
    """By the windows of an experiment that count: all of them where too few are left."""

    ns: Series
    """ns per message: a row for each block, a column for each variant, nan where a window is excluded or had no message."""
    delays: Series
    """Of each variant, ns per message, as counted."""

    @classmethod
    def of(cls, run: Run) -> "Blocks":
        """Of the engine that counts messages. Raises NotMeasured if it has no windows, or none of the first variant."""
        validity = run.record.validity
        marks = validity.excluded if validity and not validity.too_few_left else []
        excluded = {(mark.engine, mark.window) for mark in marks}
        engine = require(
            next((e for e in run.record.engines if any(map(messages, run.windows[e.name]))), None), NO_WINDOW
        )
        variants = len(_variants(run))
        windows = measured(run.windows[engine.name], VARIED)
        ns = np.full((-(-len(windows) // variants), variants), np.nan)
        added, moved = np.zeros(variants), np.zeros(variants)
        for place, window in enumerate(windows):
            number, count = window.variant, messages(window)
            if number is not None and (engine.name, window.index) not in excluded and count:
                ns[place // variants, number] = (window.end_ns - window.start_ns) / count
                added[number] += delay_cycles(window)
                moved[number] += count
        whole = ns[~np.isnan(ns[:, 0])]
        tick_ns = 1e9 / require(engine.hello, NO_WINDOW).tsc_hz
        return cls(require(whole if len(whole) else None, NO_WINDOW), added * tick_ns / np.maximum(moved, 1))

    @property
    def count(self) -> int:
        """In which the window of the first variant counts."""
        return len(self.ns)

    @property
    def ns_a_message(self) -> float:
        """As the file says."""
        return float(np.median(self.ns[:, 0]))

    @cached_property
    def growth(self) -> Series:
        """What a message of each variant takes longer than in the first variant's window of the same block: medians."""
        return medians(self._differences)

    @cached_property
    def resampled_growth(self) -> Series | None:
        """The same of resampled blocks, one a row; None: blocks are too few, or a variant has none."""
        return medians_again(self._differences)

    def interval(self, of: Statistic) -> Interval:
        """A function of the growths."""
        return _interval(of, self.growth, self.resampled_growth)

    def gain(self, variant_: int) -> Interval:
        """Of the rate, percent."""
        ratios = 100 * (self.ns[:, :1] / self.ns[:, [variant_]] - 1)
        return _interval(lambda found: found[..., 0], medians(ratios), medians_again(ratios))

    @property
    def _differences(self) -> Series:
        return self.ns - self.ns[:, :1]


def _interval(of: Statistic, found: Series, resampled: Series | None) -> Interval:
    """The statistic and its 95% interval by resampling blocks."""
    mean = float(of(found))
    if resampled is None:
        return Interval(mean=mean, low=None, high=None)
    low, high = middle_part(of(resampled))
    return Interval(mean=mean, low=float(low), high=float(high))


def _limiting(tried: Sequence[_Tried], blocks: Blocks) -> list[_Tried] | None:
    """That of whose delays most arrives, and more than half, and those that cannot be told from it: more than half arrives, and the slope
    is not less by the same blocks, or the slack may be 0. Empty: no delay arrives so; None: these blocks cannot tell."""
    if not tried or blocks.resampled_growth is None:
        return None
    first = max(tried, key=lambda each: float(each.slope(blocks.growth)))
    slope = blocks.interval(first.slope)
    if slope.low is None or slope.high is None or slope.low <= 0.5 <= slope.high:
        return None
    if slope.high < 0.5:
        return []
    return [first, *(each for each in tried if each is not first and _like(each, first, blocks))]


def _like(each: _Tried, first: _Tried, blocks: Blocks) -> bool:
    low = blocks.interval(each.slope).low
    if low is None or low <= 0.5:
        return False
    less = blocks.interval(lambda growth: np.asarray(first.slope(growth) - each.slope(growth))).low
    return blocks.interval(each.slack).low == 0.0 or less is None or less <= 0


def _slope(seen: Observed, each: _Tried, blocks: Blocks, limiting: Sequence[_Tried] | None) -> Slope:
    slack, whole = blocks.interval(each.slack), blocks.ns_a_message
    workers = each.of.workers
    return Slope(
        workers=[worker.worker for worker in workers],
        sides=workers[0].sides,
        stage=each.of.stage,
        delays_ns=each.delays.tolist(),
        grew_ns=blocks.growth[each.variants].tolist(),
        slope=blocks.interval(each.slope),
        slack_ns=slack,
        implied_ns=Interval(
            mean=whole - slack.mean,
            low=None if slack.high is None else whole - slack.high,
            high=None if slack.low is None else whole - slack.low,
        ),
        accounted_ns=whole * (1 - next(slack for slack in seen.slacks if _is(slack, workers[0])).waiting.mean),
        limits=None if limiting is None else any(each is one for one in limiting),
    )


def _limit(
    seen: Observed,
    slopes: Sequence[Slope],
    limiting: Sequence[_Tried] | None,
    remedies: Sequence[Remedy],
    blocks: int,
) -> Limit:
    """What limits, by the slopes."""
    evidence = [_words(each) for each in slopes]
    evidence += [each.words for each in remedies]
    if limiting is None:
        words = f"the slopes cannot tell what limits: {blocks} blocks of windows are too few, or the host too busy"
        return Limit(kind="unknown", workers=[], engines=[], stage=None, words=words, evidence=evidence)
    if not limiting:
        return _outside(remedies, evidence)
    workers = [worker for each in limiting for worker in each.of.workers]
    named = [who(slack) for worker in workers for slack in seen.slacks if _is(slack, worker)]
    numbers, engines = [worker.worker for worker in workers], [worker.engine for worker in workers]
    if len(limiting) > 1:
        words = f"a tie: a delay of {' or of '.join(named)} makes every message later"
        return Limit(kind="tie", workers=numbers, engines=engines, stage=None, words=words, evidence=evidence)
    kind: Kind = "generator" if workers[0].sides == "client" else "worker"
    words = f"{' and '.join(named)} {'limits' if len(named) == 1 else 'limit alike'}: most of a delay there arrives"
    words = f"the generator limits: {words}" if kind == "generator" else words
    return Limit(
        kind=kind,
        workers=numbers,
        engines=engines,
        stage=next(iter(workers[0].stages), None),
        words=words,
        evidence=evidence,
    )


def _outside(remedies: Sequence[Remedy], evidence: list[str]) -> Limit:
    """No worker limits: more messages in flight show whether they were too few."""
    more = next((each.gain for each in remedies if each.code == inflight.CAUSE.code), None)
    kind: Kind = "unknown"
    words = "no worker limits: most of a delay does not arrive. What does is not known"
    if more is not None and more.low is not None:
        kind, words = (
            "link",
            "a link limits, or the load: neither a delay nor more messages in flight change the rate much",
        )
        if more.low > 0:
            kind, words = "in-flight", "too few messages in flight limit: with more of them the rate rises"
    return Limit(kind=kind, workers=[], engines=[], stage=None, words=words, evidence=evidence)


def _words(each: Slope) -> str:
    delays = " and ".join(f"{ns:.1f}" for ns in each.delays_ns)
    grew = " and ".join(f"{ns:.1f}" for ns in each.grew_ns)
    return f"{each.stage} {delays} ns later a message: it takes {grew} ns longer, slope {_number(each.slope)}"


def _number(found: Interval) -> str:
    return f"{found.mean:.2f}" + ("" if found.low is None else f" [{found.low:.2f} .. {found.high:.2f}]")


def _values(sets: Sequence[str]) -> dict[str, int]:
    """The remedy as keys and values; empty where it cannot be tried within a run."""
    values = dict(each.split("=", 1) for each in sets)
    return {key: int(value) for key, value in values.items()} if values.keys() <= {INFLIGHT, *BATCHES} else {}


def _sets(each: Variant) -> Iterator[str]:
    yield from (f"{side}.batch.{stage}={size}" for side, of in each.batch.items() for stage, size in of.items())
    if each.inflight is not None:
        yield f"{INFLIGHT}={each.inflight}"


def _is(slack: Slack, worker: WorkerSeen) -> bool:
    return (slack.engine, slack.worker) == (worker.engine, worker.worker)


def _variants(run: Run) -> list[Variant]:
    plans = (engine.plan for engine in run.record.engines)
    return next((plan.variants.variants for plan in plans if plan.variants), [])
