"""Made-up measurements: what a slicer reads, and what a probe has kept."""

from datetime import UTC, datetime

from windtunnel_sharing.costs import Cost, Kept
from windtunnel_sharing.slicers import MemberReading, SliceReading

SECOND_NS = 10**9


def member(tid: int, weight: int = 64, **fields) -> MemberReading:
    """One that had half of the core."""
    sample = {"nice": 0, "ran_ns": SECOND_NS // 4, "slices": 60, "waited_ns": 0, "entitled": 0.5, "share": 0.5}
    return MemberReading(tid=tid, weight=weight, **sample | fields)


def reading(cpu: int, *members: MemberReading, **fields) -> SliceReading:
    """Of a second, of a slicer that measures nothing."""
    unmeasured = dict.fromkeys(("slice", "gap", "late", "mean_slice_ns", "own_share", "others_share"))
    sample = {"slice_ns": 100_000, "interval_ns": SECOND_NS, "source": "schedstat", "kicks": 0, "lost_records": 0}
    return SliceReading(cpu=cpu, members=list(members), warnings=[], **unmeasured | sample | fields)


def probed(*, slice_us: int = 150, tenants: int = 4, gaps=(), **costs: tuple[float, float]) -> Kept:
    """`costs`: of slicers, the loss of a turn and the p99, both in us."""
    named = {
        name.replace("_", "-"): Cost(turn_ns=turn_us * 1e3, p99_us=p99_us, late=[(20_000, 99), (900_000, 1)])
        for name, (turn_us, p99_us) in costs.items()
    }
    when = datetime(2026, 11, 23, tzinfo=UTC)
    return Kept(when=when, slice_ns=slice_us * 1000, tenants=tenants, gaps=list(gaps), alone_ns=SECOND_NS, costs=named)
