"""Histories that were never run: labelled runs of one scenario, with noise from a seed."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from comparing import HOST, SCENARIO, made

DAY_S = 86_400
BASE_MPPS = 6.0


def noisy(runs: int, seed: int, step_at: int | None = None, step: float = 0.0, noise: float = 0.02) -> list[float]:
    """Mpps of each run; from `step_at` on they are higher by the share `step`."""
    values = BASE_MPPS * np.exp(noise * np.random.default_rng(seed).standard_normal(runs))
    return [float(value * (1 + step if step_at is not None and n >= step_at else 1)) for n, value in enumerate(values)]


def history_of(directory: Path, values: Sequence[float], **about) -> Path:
    """A run a day, each labelled with its commit: c00, c01, ..."""
    for n, mpps in enumerate(values):
        labels = about.get("labels", lambda n: {"commit": f"c{n:02}"})(n)
        made(directory / f"{n:02}", mpps, DAY_S * n, seed=n, **about | {"labels": labels})
    return directory


__all__ = ["BASE_MPPS", "HOST", "SCENARIO", "history_of", "noisy"]
