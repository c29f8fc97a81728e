"""Levels of a ladder, found by change points: where its latency stays the same, and where it changes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from windtunnel.stats.segments import segments

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

    They are segments of constant logarithm (`windtunnel.stats.segments`). Segments on the way up from one plateau to the next, too short or too steep, belong to neither.
    """
    logs = np.log(np.asarray(ns, float))
    found = [Plateau(a, b - 1, float(np.exp(np.median(logs[a:b])))) for a, b in segments(logs, LEAST_NOISE)]
    flat = [one for one in found if _is_flat(one, logs)] or [max(found, key=lambda one: one.last - one.first)]
    return _joined(flat, logs)


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
