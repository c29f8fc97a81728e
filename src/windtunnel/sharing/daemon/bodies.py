"""What the HTTP API takes and gives, as JSON. Times are whole nanoseconds, weights whole numbers of which 256 are one CPU."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from windtunnel.sharing.daemon.keys import Name, Weight
from windtunnel.sharing.pools.weights import MOST_WEIGHT

MOST_CHANGES = 4096
"""In one batch."""
Ns = Annotated[int, Field(ge=1, le=3600 * 10**9)]
Count = Annotated[int, Field(ge=0, lt=1 << 63)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Fields(Body):
    """What is to be changed of a tenant; what is left out stays."""

    # Out of range is for the pools to refuse, in the same words for every way in.
    weight: int | None = Field(
        None, description="256 is one CPU; without it slo_p99_ns chooses one", ge=-(2**63), lt=2**63
    )
    min: Weight | None = Field(None, description="least weight that anybody may set")
    max: Weight | None = Field(None, description="most weight; null: one CPU for each thread")
    cap: Weight | None = Field(None, description="most CPU though others are idle, in weight; null: all")
    slo_p99_ns: Ns | None = Field(None, description="objective for its p99; null: none")
    pool: Literal["ls", "be"] | None = None


class ChangeOf(Fields):
    tenant: str = Field(description="its name or number", min_length=1, max_length=64)


class Batch(Body):
    """Changes of which all are made or none."""

    changes: list[ChangeOf] = Field(min_length=1, max_length=MOST_CHANGES)
    dry_run: bool = Field(False, description="only say what would be")


class Addition(Body):
    """A process that takes part from now on, until it ends."""

    name: Name
    pid: Annotated[int, Field(ge=1, lt=1 << 22)]
    threads: Annotated[str, Field(max_length=64, description="names of the threads that take part")] = "*"
    pool: Literal["ls", "be"] = "ls"
    weight: Weight = 128
    min: Weight = 1
    max: Weight | None = None
    cap: Weight | None = None
    slo_p99_ns: Ns | None = None


class Report(Body):
    """What a tenant has seen of itself since its last report; the autoscaler and the metrics have it from here."""

    p99_ns: Count | None = None
    p50_ns: Count | None = None
    wait_p99_ns: Count | None = Field(
        None, description="from a request's arrival to the moment at which its work began"
    )
    wait_p50_ns: Count | None = None
    queue: Count | None = Field(None, description="depth of its input queue")
    polls: Annotated[float, Field(ge=0, le=1)] | None = Field(None, description="share of polls that found something")


class TenantView(BaseModel):
    name: str
    number: int = Field(description="as PvCC's clients count")
    pool: Literal["ls", "be"]
    parked: bool = Field(description="of ls, and with be since EXIT; a weight takes it back")
    pid: int | None = Field(description="null while its process is not there")
    threads: list[int]
    weight: int
    min: int
    max: int | None
    cap: int | None
    slo_p99_ns: int | None
    cpus: list[int] = Field(description="of ls, that it takes its turns on")
    promised: float = Field(description="CPUs that its weight says: weight / 256")
    entitled: float = Field(
        description="CPUs that it gets while everybody has work: its part of the weight on each CPU"
    )
    autoscaled: bool
    told: Report | None = Field(description="its last report")


class PoolsView(BaseModel):
    cpus: list[int]
    ls: list[int]
    be: list[int]
    slicer: str
    slice_ns: int
    weight: int = Field(description="of all tenants of ls")
    room: int = Field(ge=0, le=MOST_WEIGHT * 4096, description="weight that ls could still take")
    loads: dict[int, int] = Field(description="weight on each CPU of ls")
    overfull: dict[int, int] = Field(description="CPUs with more than 256: there a weight buys less than weight / 256")
    shield: str
    carried_ns: int = Field(description="how long the last carrying out took")
    moved_ns: int = Field(description="after what time of it each thread that went to another CPU of ls was there")


class Planned(BaseModel):
    """What a change leads to, or would."""

    dry_run: bool
    changed: int
    ls: list[int]
    be: list[int]
    loads: dict[int, int]
    overfull: dict[int, int]


class Refused(BaseModel):
    error: str
    remedy: str | None


Json = dict[str, Any]
