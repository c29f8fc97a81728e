"""Cores that contend for the last-level cache (Axio's C2, PipeTune's P2): loads and stores miss it."""

from windtunnel.finding import require
from windtunnel.parts.diagnose.cause import Case, Check
from windtunnel.parts.diagnose.model import Limit
from windtunnel.parts.diagnose.observation import Observation

WAYS = {"load": "loads", "store": "stores"}
_NAMES = [f"LLC-{way}{kind}" for way in WAYS for kind in ("s", "-misses", "-misses-rate")]


def _find(observation: Observation, limit: Limit) -> Case | None:
    if not observation.recorded.texts:
        return None
    rates = [
        (f"{rate:.0%} of {WAYS[way]}", rate, tool)
        for way in WAYS
        if (rate_and_tool := _rate(observation, way))
        for rate, tool in [rate_and_tool]
    ]
    not_counted, caveats = observation.recorded.not_counted(_NAMES), observation.recorded.caveats(_NAMES)
    reason = "no text has LLC-loads with LLC-load-misses, LLC-stores with LLC-store-misses, of the same times and places, or their rates"
    require(rates or None, "; ".join((reason, *not_counted, *caveats)))
    if not any(rate for _, rate, _ in rates):
        require(None if not_counted else rates, "; ".join(not_counted))
        return None
    return Case(
        evidence=f"{' and '.join(rate_text for rate_text, _, _ in rates)} that reach the last-level cache miss it ({rates[0][2]})",
        remedy="fewer workers that share an L3, smaller tables, or fewer mbufs: a miss rate that falls with fewer workers is contention",
        against=["a table that is larger than the cache misses it without any other core", *caveats],
        not_measured=["which core's lines another one drove out", *not_counted],
    )


def _rate(observation: Observation, way: str) -> tuple[float, str] | None:
    """The miss rate from counts, else the rate that a report has."""
    counts = observation.recorded.rate([f"LLC-{way}-misses"], [f"LLC-{way}s"])
    return counts or observation.recorded.named(f"LLC-{way}-misses-rate")


CAUSE = Check("shared-cache", "loads and stores miss the last-level cache", _find, "recorded")
