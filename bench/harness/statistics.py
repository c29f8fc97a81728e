"""Medians with their intervals, and the verdict on a goal."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

LEAST_PAIRS = 15
LEAST_FOR_INTERVAL = 6
"""Of five samples not even the least and the greatest enclose the median with 95%."""
RESAMPLES = 10_000


@dataclass(frozen=True)
class Spread:
    """A median and the range around it: a 95% interval of the median, or all samples where `kind` is "range"."""

    median: float
    low: float
    high: float
    samples: int
    kind: Literal["95%", "range"]


@dataclass(frozen=True)
class Goal:
    """What is to be reached; `aim` is what we hope for beyond it."""

    limit: float
    sense: Literal["at least", "at most"]
    aim: float | None = None
    least_samples: int = LEAST_PAIRS


@dataclass(frozen=True)
class Verdict:
    met: bool | None
    """None: this measurement cannot tell."""
    words: str


def interval(values: Sequence[float]) -> Spread:
    """The median with its 95% interval (percentile bootstrap, the same resamples every time); of too few samples, their range."""
    if len(values) < LEAST_FOR_INTERVAL:
        return extent(values)
    data = np.asarray(values, dtype=float)
    resampled = np.median(np.random.default_rng(1).choice(data, (RESAMPLES, data.size)), axis=1)
    low, high = np.percentile(resampled, (2.5, 97.5))
    return Spread(float(np.median(data)), float(low), float(high), data.size, "95%")


def extent(values: Sequence[float]) -> Spread:
    """The median with the least and the greatest value: for samples too few for an interval."""
    return Spread(float(np.median(values)), min(values), max(values), len(values), "range")


def judge(spread: Spread, goal: Goal, busy: str | None = None) -> Verdict:
    """Whether the goal is met. Without a verdict when the samples are too few, the host took the core away (`excluded` says
    so in words), or the goal lies within the spread."""
    if spread.samples < goal.least_samples:
        return Verdict(None, f"no verdict: {spread.samples} samples, {goal.least_samples} are needed")
    if busy:
        return Verdict(None, f"no verdict: {busy}")
    if goal.limit in (spread.low, spread.high) or not spread.low < goal.limit < spread.high:
        met = spread.low >= goal.limit if goal.sense == "at least" else spread.high <= goal.limit
        return Verdict(met, "met" if met else "missed")
    return Verdict(None, "no verdict: the goal lies within the interval")
