"""The readings of a slicer: its core since the last reading."""

from pydantic import BaseModel, ConfigDict, Field

from windtunnel.api.histograms import Histogram

KICK_NS = 12_000
"""Time of the core for a kick and its switches that does not count as a neighbour's."""


class MemberReading(BaseModel):
    """One member over the interval. `share` is its part of the members' CPU time, null where none ran. `entitled` is what its weight
    makes of it, among those that wanted the core all the time; null where it did not."""

    model_config = ConfigDict(extra="forbid")

    tid: int
    weight: int
    nice: int = Field(description="its present value; it moves between two steps to keep the share")
    ran_ns: int
    slices: int | None = Field(description="times that it got the core; null where the kernel does not tell")
    waited_ns: int | None = Field(description="runnable and not running; null where the kernel does not tell")
    entitled: float | None
    share: float | None


class SliceReading(BaseModel):
    """Of one core over `interval_ns`. Histograms are in ns.

    `source`: how slices were measured: `switches` (each switch of the core, by perf_event_open) or `schedstat` (sums only: then
    `slice` and `gap` are null, and there is only a mean).
    """

    model_config = ConfigDict(extra="forbid")

    cpu: int
    slice_ns: int
    interval_ns: int
    source: str
    slice: Histogram | None = Field(description="time that a member ran without a switch")
    gap: Histogram | None = Field(description="time between two slices of a member")
    mean_slice_ns: float | None
    kicks: int = Field(description="wake-ups of the slicer; 0 for slicers without")
    late: Histogram | None = Field(description="real minus intended wake-up")
    own_share: float | None = Field(description="share of the interval in which members ran on the core")
    others_share: float | None = Field(
        description="share in which other threads ran, the slicer included; null without switches"
    )
    lost_records: int = Field(description="switches that are missing because the buffer was full")
    members: list[MemberReading]
    warnings: list[str]


def own_share(seen: SliceReading) -> float | None:
    """The part of the core without neighbours: other threads' time, minus KICK_NS for each kick, is a neighbour's. None: not measured."""
    if seen.others_share is None:
        return None
    return 1 - max(seen.others_share - seen.kicks * KICK_NS / seen.interval_ns, 0.0)
