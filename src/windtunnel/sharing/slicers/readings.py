"""What a slicer has seen on its core since it was last asked."""

from pydantic import BaseModel, ConfigDict, Field

from windtunnel.engine.lines import Histogram

KICK_NS = 12_000
"""What a kick and its switches may take of the core without being a neighbour."""


class MemberReading(BaseModel):
    """One member over the interval. `entitled` is its weight over all weights, `share` its part of what all members ran; null where
    none ran."""

    model_config = ConfigDict(extra="forbid")

    tid: int
    weight: int
    nice: int = Field(description="as it is set now; it moves between two steps so that the share holds")
    ran_ns: int
    slices: int | None = Field(description="times it was put on the core; null where that is not told")
    waited_ns: int | None = Field(description="runnable and not running; null where the kernel does not tell")
    entitled: float
    share: float | None


class SliceReading(BaseModel):
    """Of one core over `interval_ns`. Histograms are in ns.

    `source` says how slices were seen: `switches` (each switch of the core, by perf_event_open) or `schedstat` (sums only: then
    `slice` and `gap` are null, and the mean is all that there is).
    """

    model_config = ConfigDict(extra="forbid")

    cpu: int
    slice_ns: int
    interval_ns: int
    source: str
    slice: Histogram | None = Field(description="how long a member kept the core once it had it")
    gap: Histogram | None = Field(
        description="from a member's leaving the core to its next coming, which is a poll-mode tenant's longest silence"
    )
    mean_slice_ns: float | None
    kicks: int = Field(description="times the slicer woke; 0 for those that do not")
    late: Histogram | None = Field(description="from when it meant to wake to when it woke")
    own_share: float | None = Field(description="of the interval in which members ran on the core")
    others_share: float | None = Field(
        description="in which somebody else ran, the slicer included; null without switches"
    )
    lost_records: int = Field(description="switches that were not seen because the buffer was full")
    members: list[MemberReading]
    warnings: list[str]


def own_share(seen: SliceReading) -> float | None:
    """The part of the core that no neighbour had: what others ran, less a kick's price for each kick, is a neighbour's. null: not told."""
    if seen.others_share is None:
        return None
    return 1 - max(seen.others_share - seen.kicks * KICK_NS / seen.interval_ns, 0.0)
