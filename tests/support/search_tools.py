"""What the tests of searches share: the path to the reference, and trials from three numbers."""

import inspect
import sys
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from windtunnel.measure.search import TrialResult

PACKETS = 1_000_000


@cache
def oracle() -> ModuleType:
    """The reference looks at its callers when it is imported, and would read the source of all of them: seconds in each worker."""
    with patch("inspect.stack", partial(inspect.stack, 0)):
        from harness import oracle
    return oracle


def trial(duration_s: float, loss_ratio: float, load: float = PACKETS, **more) -> TrialResult:
    """Of a million packets, whatever its load and duration: only the ratio counts."""
    return TrialResult(load, duration_s, PACKETS, PACKETS - round(loss_ratio * PACKETS), **more)
