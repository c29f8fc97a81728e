"""What the tests of searches share: the path to the reference, and trials from three numbers."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from harness import oracle  # noqa: F401

from windtunnel.measure.search import TrialResult

PACKETS = 1_000_000


def trial(duration_s: float, loss_ratio: float, load: float = PACKETS, **more) -> TrialResult:
    """Of a million packets, whatever its load and duration: only the ratio counts."""
    return TrialResult(load, duration_s, PACKETS, PACKETS - round(loss_ratio * PACKETS), **more)
