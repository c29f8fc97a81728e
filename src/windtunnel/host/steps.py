"""Levels of a ladder by change points of its latency."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from windtunnel.stats.segments import segments

LEAST_NOISE = 0.03
"""Least standard deviation of a rung's logarithm: no level is split over less."""
LEAST_RUNGS = 3
"""Fewest rungs of a level; at four an octave they are a little less than a doubling."""
LEAST_STEP = 1.3
"""Ratio of latencies below which two neighbours are one level."""
FLAT = 1.5
"""Ratio between the ends of a segment above which it is the rise to the next level."""


@dataclass(frozen=True)
class Plateau:
    """Rungs `first` to `last`, both included, with a latency of about `ns`."""

    first: int
    last: int
    ns: float


def plateaus(ns: Sequence[float]) -> list[Plateau]:
    """Plateaus of latencies in the order of their sizes; at least one latency.

    They are segments of constant logarithm (`windtunnel.stats.segments`). Segments on the rise from one plateau to the next, too short or too steep, belong to neither.
    """
    logs = np.log(np.asarray(ns, float))
    candidates = [Plateau(a, b - 1, float(np.exp(np.median(logs[a:b])))) for a, b in segments(logs, LEAST_NOISE)]
    flat = [plateau for plateau in candidates if _is_flat(plateau, logs)] or [
        max(candidates, key=lambda plateau: plateau.last - plateau.first)
    ]
    return _joined(flat, logs)


def _is_flat(plateau: Plateau, logs: np.ndarray) -> bool:
    latencies = logs[plateau.first : plateau.last + 1]
    return (
        len(latencies) >= LEAST_RUNGS
        and float(np.exp(abs(np.median(latencies[-2:]) - np.median(latencies[:2])))) < FLAT
    )


def _joined(flat: list[Plateau], logs: np.ndarray) -> list[Plateau]:
    """Plateaus without negligible steps. Latency never falls as the size grows, so a lower plateau is noise."""
    joined = [flat[0]]
    for plateau in flat[1:]:
        before = joined[-1]
        if plateau.ns >= before.ns * LEAST_STEP:
            joined.append(plateau)
            continue
        middle = float(np.exp(np.median(logs[before.first : plateau.last + 1])))
        joined[-1] = Plateau(before.first, plateau.last, min(middle, max(before.ns, plateau.ns)))
    return joined
