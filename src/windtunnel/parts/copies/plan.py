"""What the plan says of copies: the source of bodies, the copier, and an engine as figures."""

from typing import Annotated, Any, Literal, cast

from pydantic import Field

from windtunnel.engine.plan_values import MAX_AT_ONCE, MAX_MESSAGE_BYTES, U32, Batched, Length, Part, Real, Text, cpp

CopyDepth = Annotated[int, Field(ge=1, le=8192)]
CopySize = Annotated[int, Field(ge=0, le=MAX_MESSAGE_BYTES)]
SourceBytes = Annotated[int, Field(ge=64, le=1 << 34)]
CopyWay = Literal["pipelined", "wait_all", "zero"]
SourceOrder = Literal["rotating", "hot"]


class Source(Part):
    """The buffer from which the bodies of requests are copied, the same for all applications of a workload. Its bytes follow from
    the run's seed and their position."""

    bytes: SourceBytes
    order: Annotated[SourceOrder, cpp("source_order")] = Field(
        description="rotating: each request takes the next part; hot: each takes the first one"
    )


class CurvePoint(Part):
    bytes: Annotated[int, Field(ge=1, le=U32)]
    value: Real


Curve = Annotated[
    list[CurvePoint],
    Field(
        min_length=1,
        description="ascending by size; between two points straight on logarithmic axes, beyond them level",
    ),
]


class ModelledDevice(Part):
    """What moves the bytes beside the worker, by figures."""

    latency_ns: Real = Field(description="of every copy, beside the time for its bytes")
    bytes_per_ns: Curve = Field(description="of one copy that works alone")
    at_once: Annotated[int, Field(ge=1, le=MAX_AT_ONCE)] = Field(
        description="copies that it works on at a time, each at the full rate"
    )
    queue: Annotated[int, Field(ge=1, le=U32)] = Field(description="most copies that it has taken and not reported")
    reports_bursts: bool = Field(description="the copies of one submit are reported together, when the last has ended")


class ModelledEngine(Part):
    """An engine as figures: what copies cost the worker, and when they end. All times are of the run."""

    name: Text
    burst_ns: Real = Field(description="of the worker, for each submit")
    copy_ns: Curve = Field(description="of the worker, for each copy of a submit")
    poll_ns: Real = Field(description="of the worker, for each poll")
    end_ns: Real = Field(description="of the worker, for each end that a poll finds")
    device: ModelledDevice | None = Field(description="null: copies have ended with their submit")


class Copies(Part):
    """How bodies come into mbufs: those of requests from the source, or without one those of responses from the place that the
    handler names."""

    engine: Text = Field(
        description="name of the copier; `windtunnel-engine --copiers` lists them; a path if it has a slash"
    )
    options: dict[str, Text] = Field(description="plain numbers and words; the copier knows their meaning")
    depth: CopyDepth = Field(description="most copies of one application that the copier has at once")
    batch: Batched = Field(description="most copies of one submit, and of one poll")
    way: Annotated[CopyWay, cpp("copy_way")] = Field(
        description="pipelined: a packet leaves when its own copy has ended; wait_all: when those of all packets that were made with "
        "it have; zero: an mbuf with headers, and the source itself behind it"
    )
    at_least_bytes: CopySize | None = Field(
        description="smaller copies are made by the CPU; null: below what is measured before the run"
    )
    verify: bool = Field(
        description="the receiver checks every byte of a body: the server against the source, the client by the handler's hook"
    )
    timeout_ns: Length = Field(description="a copy that has not ended after this: the copier is given up")
    lcores: list[Annotated[int, Field(ge=1, le=U32)]] = Field(
        description="of the threads of a software copier, taken in turn by applications; empty if it has none"
    )
    model: ModelledEngine | None = Field(None, description="of the copier model; null: another one")


WORKLOAD = {
    "source": (Source | None, Field(description="null: every body is one pattern that stays in the cache")),
    "copies": (
        Copies | None,
        Field(description="given if there is a source; without one, of responses that the handler names"),
    ),
}


def copies_of(workload: Part) -> Copies | None:
    """The copies of a plan's workload; None if nothing is copied for it."""
    return cast(Copies | None, cast(Any, workload).copies)
