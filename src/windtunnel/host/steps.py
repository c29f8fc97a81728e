"""Levels of a ladder, found by change points: where its latency stays the same, and where it changes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEAST_NOISE = 0.03
"""Standard deviation of a rung's logarithm that is always assumed: no level is split over less."""
LEAST_RUNGS = 3
"""A level is at least so many rungs long, which at four an octave is a little less than a doubling."""
LEAST_STEP = 1.3
"""Ratio of latencies below which two neighbours are one level."""
FLAT = 1.5
"""Ratio between the ends of a level above which it is no level but the way up to the next."""


@dataclass(frozen=True)
class Plateau:
    """Rungs `first` to `last`, both included, that cost about `ns` each."""

    first: int
    last: int
    ns: float


def plateaus(ns: Sequence[float]) -> list[Plateau]:
    """Plateaus of latencies that stand in the order of their sizes; at least one rung.

    Segments of constant logarithm by optimal partitioning (Jackson et al., 2005): least squares, and a price on every segment
    as the Bayesian information criterion has it, with the noise taken from second differences, which a step hardly moves.
    Segments on the way up from one plateau to the next, too short or too steep, belong to neither.
    """
    logs = np.log(np.asarray(ns, float))
    found = [Plateau(a, b - 1, float(np.exp(np.median(logs[a:b])))) for a, b in _segments(logs)]
    flat = [one for one in found if _is_flat(one, logs)] or [max(found, key=lambda one: one.last - one.first)]
    return _joined(flat, logs)


def _segments(logs: np.ndarray) -> list[tuple[int, int]]:
    """Half-open ranges that cover all rungs."""
    count = len(logs)
    bends = np.abs(np.diff(logs, 2)) / np.sqrt(6)
    noise = max(LEAST_NOISE, 1.4826 * float(np.median(bends)) if len(bends) else 0.0)
    price = 2 * np.log(count + 1) * noise**2
    sums, squares = np.concatenate([[0], np.cumsum(logs)]), np.concatenate([[0], np.cumsum(logs**2)])
    best, begins = np.zeros(count + 1), np.zeros(count + 1, int)
    for end in range(1, count + 1):
        starts = np.arange(end)
        within = squares[end] - squares[starts] - (sums[end] - sums[starts]) ** 2 / (end - starts)
        costs = best[:end] + np.maximum(within, 0) + price
        begins[end] = int(np.argmin(costs))
        best[end] = costs[begins[end]]
    segments, end = [], count
    while end:
        segments.append((int(begins[end]), end))
        end = int(begins[end])
    return segments[::-1]


def _is_flat(one: Plateau, logs: np.ndarray) -> bool:
    there = logs[one.first : one.last + 1]
    return len(there) >= LEAST_RUNGS and float(np.exp(abs(np.median(there[-2:]) - np.median(there[:2])))) < FLAT


def _joined(flat: list[Plateau], logs: np.ndarray) -> list[Plateau]:
    """Without negligible steps; latency falls nowhere as the size grows, so a lower one is noise."""
    joined = [flat[0]]
    for one in flat[1:]:
        before = joined[-1]
        if one.ns >= before.ns * LEAST_STEP:
            joined.append(one)
            continue
        middle = float(np.exp(np.median(logs[before.first : one.last + 1])))
        joined[-1] = Plateau(before.first, one.last, min(middle, max(before.ns, one.ns)))
    return joined
