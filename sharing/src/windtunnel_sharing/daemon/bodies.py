"""The bodies of requests and responses of the HTTP API, as JSON. Times are whole nanoseconds, weights whole numbers of which 256 are one CPU."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from windtunnel_sharing.daemon.keys import Name, Pid, Weight
from windtunnel_sharing.pools.weights import MOST_WEIGHT
from windtunnel_sharing.slicers.slicer import LEAST_SLICE_NS, MOST_SLICE_NS

MOST_CHANGES = 4096
"""In one batch."""
Ns = Annotated[int, Field(ge=1, le=3600 * 10**9)]
Count = Annotated[int, Field(ge=0, lt=1 << 63)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Fields(Body):
    """Changes of a tenant; fields that are left out stay."""

    # The pools refuse what is out of range, with the same message for every interface.
    weight: int | None = Field(
        None, description="256 is one CPU; without it slo_p99_ns chooses one", ge=-(2**63), lt=2**63
    )
    min: Weight | None = Field(None, description="least weight that a request may set")
    max: Weight | None = Field(None, description="most weight; null: one CPU for each thread")
    cap: Weight | None = Field(None, description="most CPU while others are idle, in weight; null: all")
    slo_p99_ns: Ns | None = Field(None, description="objective for its p99; null: none")
    pool: Literal["ls", "be"] | None = None


class Slicing(Body):
    """Slicer and slice of all CPUs of ls; fields that are left out stay."""

    slicer: str | None = Field(
        None, min_length=1, max_length=32, description="`windtunnel share probe` shows those that work"
    )
    slice_ns: Annotated[int, Field(ge=LEAST_SLICE_NS, le=MOST_SLICE_NS)] | None = None


class ChangeOf(Fields):
    tenant: str = Field(description="its name or number", min_length=1, max_length=64)


class Batch(Body):
    """Changes: all are made, or none."""

    changes: list[ChangeOf] = Field(min_length=1, max_length=MOST_CHANGES)
    dry_run: bool = Field(False, description="show the result, change nothing")


class Addition(Body):
    """A process that is a tenant from now on, until it ends."""

    name: Name
    pid: Pid
    threads: Annotated[str, Field(max_length=64, description="names of the threads that share")] = "*"
    pool: Literal["ls", "be"] = "ls"
    weight: Weight = 128
    min: Weight = 1
    max: Weight | None = None
    cap: Weight | None = None
    slo_p99_ns: Ns | None = None


class Report(Body):
    """A tenant's report of the time since its last one, for the autoscaler and the metrics."""

    p99_ns: Count | None = None
    p50_ns: Count | None = None
    wait_p99_ns: Count | None = Field(None, description="from a request's arrival to the start of its service")
    wait_p50_ns: Count | None = None
    queue: Count | None = Field(None, description="depth of its input queue")
    polls: Annotated[float, Field(ge=0, le=1)] | None = Field(None, description="share of busy polls")


class TenantView(BaseModel):
    name: str
    number: int = Field(description="as PvCC's clients count")
    pool: Literal["ls", "be"]
    parked: bool = Field(description="a tenant of ls that is in be since EXIT; a new weight takes it back")
    pid: int | None = Field(description="null while it has no process")
    threads: list[int]
    weight: int
    min: int
    max: int | None
    cap: int | None
    slo_p99_ns: int | None
    cpus: list[int] = Field(description="CPUs of ls on which it runs")
    promised: float = Field(description="weight / 256")
    entitled: float = Field(
        description="CPUs that it gets while all tenants have work: its part of the weight on each CPU"
    )
    autoscaled: bool
    told: Report | None = Field(description="its last report")


class PlanView(BaseModel):
    ls: list[int]
    be: list[int]
    loads: dict[int, int] = Field(description="weight on each CPU of ls")
    overfull: dict[int, int] = Field(description="CPUs with more than 256: there a tenant gets less than weight / 256")


class PoolsView(PlanView):
    cpus: list[int]
    slicer: str
    slice_ns: int
    weight: int = Field(description="of all tenants of ls")
    room: int = Field(ge=0, le=MOST_WEIGHT * 4096, description="weight that ls can still take")
    shield: str
    carried_ns: int = Field(description="time that the last change took")
    moved_ns: int = Field(description="time of it until every thread that moved was on its new CPU of ls")


class Planned(PlanView):
    """The result of a change, or of a dry run."""

    dry_run: bool
    changed: int


class Refused(BaseModel):
    error: str
    remedy: str | None
