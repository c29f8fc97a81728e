"""Cores that contend for the last-level cache (Axio's C2, PipeTune's P2): loads and stores miss it."""

from windtunnel.diagnose.causes.cause import Case, Check
from windtunnel.diagnose.model import Limit
from windtunnel.diagnose.observed import Observed
from windtunnel.finding import require

WAYS = {"load": "loads", "store": "stores"}


def _find(seen: Observed, limit: Limit) -> Case | None:
    if not seen.recorded.texts:
        return None
    rates = [
        (f"{rate:.0%} of {WAYS[way]}", rate, tool)
        for way in WAYS
        if (found := _rate(seen, way))
        for rate, tool in [found]
    ]
    said = seen.recorded.not_counted(f"LLC-{way}{kind}" for way in WAYS for kind in ("s", "-misses"))
    without = "no text has LLC-loads with LLC-load-misses, LLC-stores with LLC-store-misses, or their rates"
    require(rates or None, "; ".join((without, *said)))
    if not any(rate for _, rate, _ in rates):
        return None
    return Case(
        evidence=f"{' and '.join(words for words, _, _ in rates)} that reach the last-level cache miss it ({rates[0][2]})",
        remedy="fewer workers that share an L3, smaller tables, or fewer mbufs: a miss rate that falls with fewer workers is contention",
        against=["a table that is larger than the cache misses it without any other core"],
        not_measured=["which core's lines another one drove out"],
    )


def _rate(seen: Observed, way: str) -> tuple[float, str] | None:
    """From counts, else as Axio's report has it."""
    counts = seen.recorded.rate([f"LLC-{way}-misses"], [f"LLC-{way}s"])
    return counts or seen.recorded.named(f"LLC-{way}-misses-rate")


CAUSE = Check("shared-cache", "loads and stores miss the last-level cache", _find, "recorded")
