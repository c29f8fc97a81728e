"""How sure a cause is: the chance that the first cause is the one that was planted, by the kind of its evidence.

The chance is a share of the cases that `bench/ground_truth.py` has counted, in plain bins, by the rule of succession (Laplace). A bin with few
cases has none. docs/measurements/diagnosis.md names their kinds, and the ones that were held out.
"""

from collections.abc import Mapping
from typing import Literal

from windtunnel.parts.diagnose.model import Confidence, Gain, Limit

Evidence = Literal["measured", "predicted", "tied", "bounded", "unknown"]
"""What is known of a gain: that it was measured; that it lies above 0 at the one thing that limits, or at one of several; what it is at most;
nothing."""
COUNTED: Mapping[Evidence, tuple[int, int]] = {
    "measured": (0, 0),
    "predicted": (2, 2),
    "tied": (1, 1),
    "bounded": (5, 6),
    "unknown": (0, 0),
}
"""Of first causes, those that were right, and all of them."""
LEAST_CASES = 5
HIGH, MEDIUM = 0.8, 0.5
NOT_COUNTED: Mapping[Evidence, Confidence] = {
    "measured": "high",
    "predicted": "high",
    "tied": "medium",
    "bounded": "medium",
    "unknown": "low",
}
"""What a bin with too few cases is called: by how much is known of the gain."""


def evidence_of(gain: Gain | None, limit: Limit) -> Evidence:
    """The kind of evidence of a cause with that gain."""
    if gain is None:
        return "unknown"
    if gain.measured:
        return "measured"
    if gain.low <= 0:
        return "bounded"
    return "tied" if limit.kind in ("tie", "unknown") else "predicted"


def chance(evidence: Evidence) -> float | None:
    """That a first cause with this evidence is right; None: too few cases had it."""
    right, of = COUNTED[evidence]
    return (right + 1) / (of + 2) if of >= LEAST_CASES else None


def confidence(evidence: Evidence) -> Confidence:
    """The chance in words."""
    share = chance(evidence)
    if share is None:
        return NOT_COUNTED[evidence]
    return "high" if share >= HIGH else "medium" if share >= MEDIUM else "low"
