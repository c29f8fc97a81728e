"""The causes, one file each. A new one is a file with a `CAUSE`, and a line here. Parts have theirs in their module `own_causes`."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from windtunnel.finding import NotMeasured
from windtunnel.part_registry import part_modules
from windtunnel.parts.diagnose.cause import Check
from windtunnel.parts.diagnose.causes import (
    contention,
    few_mbufs,
    full_ring,
    generator,
    handler,
    host_state,
    host_time,
    inflight,
    iotlb,
    kernel,
    link,
    losses,
    memory_traffic,
    mempool_cache,
    mtu,
    nic_reads,
    nic_writes,
    one_worker,
    pause_frames,
    payload,
    pcie_link,
    rare_calls,
    shared_cache,
    small_batches,
    working_set,
)
from windtunnel.parts.diagnose.causes.both_sides import both_sides
from windtunnel.parts.diagnose.confidence import confidence
from windtunnel.parts.diagnose.model import Cause, Gain, Limit, Remedy
from windtunnel.parts.diagnose.observation import Observation

_OWN = [
    module.CAUSE
    for module in (
        handler, kernel, rare_calls, contention, working_set, small_batches, mtu, mempool_cache, few_mbufs, full_ring, one_worker, inflight, losses, generator, link, payload, host_time,
        host_state, shared_cache, memory_traffic, nic_writes, nic_reads, iotlb, pcie_link, pause_frames,
    )
]  # fmt: skip
_SINGLE = (*_OWN, *chain.from_iterable(module.CAUSES for module in part_modules("own_causes")))
CAUSES: dict[str, Check] = {check.code: check for check in (*_SINGLE, both_sides(_SINGLE))}
"""The checks by the code of their cause."""
LEAST_GAIN = 2.0
"""Percent. What is known to bring less is no cause."""


def find_causes(
    observation: Observation, limit: Limit, remedies: Sequence[Remedy] = ()
) -> tuple[list[Cause], list[str]]:
    """The causes of a run, and what was not measured.

    The cause whose remedy brings the most at the least comes first; of causes alike in that, the one that may bring the most. Causes of
    unknown gain come last, unless they are what limits. A run without windows has recorded causes alone. `remedies`: what an experiment has
    tried. A measured gain replaces the estimate. A cause whose remedy brings nothing is none: its gain is known to be below LEAST_GAIN, or
    an experiment has shown none. Remedies of causes that are not here, as another release may have them, are left out."""
    causes, not_measured = [], []
    for code, check in CAUSES.items():
        if not observation.count and check.observable != "recorded":
            continue
        try:
            cause = check.cause(observation, limit)
        except NotMeasured as missing:
            not_measured.append(f"{code}: {missing}")
            continue
        if cause is not None:
            causes.append(cause)
    tried = {remedy.code: remedy for remedy in remedies if remedy.code in CAUSES}
    known = [_with_measured_gain(cause, tried.pop(cause.code)) if cause.code in tried else cause for cause in causes]
    more = [
        _cause_of_experiment(remedy) for remedy in tried.values() if remedy.gain.low is not None and remedy.gain.low > 0
    ]
    valid = observation.run.record.verdict.valid
    ranked = [_bounded(cause, valid) for cause in (*known, *more)]
    with_gain = [cause for cause in ranked if _may_bring_something(cause.gain)]
    of_use = [cause for cause in with_gain if _brings_more(cause, with_gain)]
    return sorted(of_use, key=lambda cause: _rank(cause, limit)), not_measured


def _may_bring_something(gain: Gain | None) -> bool:
    """Whether the remedy brings LEAST_GAIN, for all that is known; None: nothing is."""
    return gain is None or (gain.high >= LEAST_GAIN and (gain.low > 0 or not gain.measured))


def _brings_more(cause: Cause, causes: Sequence[Cause]) -> bool:
    """Whether a cause that takes others together may bring more than each of them; True for one by itself."""
    highs = [part.gain.high for part in causes if part.code in cause.parts and part.gain]
    return not highs or cause.gain is None or cause.gain.high > max(highs)


def _with_measured_gain(cause: Cause, remedy: Remedy) -> Cause:
    """The cause with the measured gain of its remedy."""
    tried_text, gain = f"tried: {remedy.sentence}", remedy.gain
    if gain.low is None or gain.high is None:
        return replace(cause, not_measured=[*cause.not_measured, f"{tried_text}, in too few windows for an interval"])
    return replace(
        cause,
        gain=Gain(gain.low, gain.high, measured=True),
        evidence=f"{cause.evidence}; {tried_text}",
        confidence=confidence("measured"),
    )


def _cause_of_experiment(remedy: Remedy) -> Cause:
    """A cause that only an experiment shows."""
    return Cause(
        code=remedy.code,
        title=CAUSES[remedy.code].title,
        evidence=f"tried: {remedy.sentence}",
        remedy="as tried",
        observable=CAUSES[remedy.code].observable,
        against=[],
        not_measured=[],
        sets=remedy.sets,
        parts=[],
        gain=Gain(remedy.gain.low or 0.0, remedy.gain.high or 0.0, measured=True),
        confidence=confidence("measured"),
    )


def _bounded(cause: Cause, valid: bool) -> Cause:
    """No cause is surer than the run that shows it: that of an invalid run has low confidence, also if a remedy was tried."""
    return cause if valid or cause.confidence is None else replace(cause, confidence="low")


def _rank(cause: Cause, limit: Limit) -> tuple[bool, bool, bool, float, float]:
    """A cause that is what limits comes first although its gain is not known, as for a link; what other tools recorded comes last. A gain that is known to be
    30% stands before one that may be anything up to 200%: the middle of a bound says nothing. What is only known to bring less than LEAST_GAIN is
    known to bring nothing."""
    decided = cause.gain is None and cause.code == limit.kind
    low, high = (cause.gain.low, cause.gain.high) if cause.gain else (0.0, 0.0)
    known = low if low >= LEAST_GAIN else 0.0
    return not decided, cause.observable == "recorded", cause.gain is None, -known, -high


__all__ = ["CAUSES", "find_causes"]
