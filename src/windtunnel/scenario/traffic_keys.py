"""Keys of a load that differs: sizes from message to message, rates from phase to phase, bodies that come from a source."""

from typing import Annotated, Literal

from pydantic import Field

from windtunnel.engine.plan_values import (
    Arrivals,
    Batched,
    Congestion,
    CopyDepth,
    CopyWay,
    Exponent,
    SourceBytes,
    SourceOrder,
    StreamBuffer,
    StreamRead,
    StreamWrite,
)
from windtunnel.scenario.quantities import AnyRate, Duration, Size, within
from windtunnel.scenario.table import Table
from windtunnel.scenario.values import CopierOptions, CopySize, Message, Text, Wanted


class Sizes(Table):
    """Sizes that differ from message to message, drawn from the seed: the same on every repeat."""

    distribution: Literal["imix", "uniform", "zipf", "file"] = Field(
        description="imix: frames of a genome in turn; uniform: a range; zipf: a range by rank; file: a list with weights"
    )
    genome: Text | None = Field(
        None, description="imix: frame sizes with FCS (RFC 6985), one letter each, as in aaaaaaaeeeeg"
    )
    custom: Annotated[
        dict[str, Annotated[int, Size("64B", "9018B")]],
        Wanted('a table of letters and sizes from "64B" to "9018B", as in { A = 90 }'),
    ] = Field(default_factory=dict, description="imix: sizes of capital letters")
    least: Message | None = Field(None, description="uniform, zipf: the smallest")
    most: Message | None = Field(None, description="uniform, zipf: the largest")
    step: Annotated[int, Field(ge=1, le=1 << 22)] = Field(1, description="zipf: step between sizes, bytes")
    exponent: Exponent | None = Field(
        None, description="zipf: the smallest size has rank 1, rank k a weight of 1 / k^exponent"
    )
    file: Text | None = Field(
        None, description="file: lines of a size in bytes and a weight (1), relative to this file"
    )


class LoadPhase(Table):
    """A time in which the load is the same. After the last phase the first one starts again."""

    duration: Annotated[int, Duration("1us", "24h")] = Field(description="length of the phase")
    rate: AnyRate = Field(description="messages per second, 0pps for none")
    arrivals: Arrivals | None = Field(None, description="spacing of the messages; default: the client's")
    on: Annotated[int, Duration("1us", "1h")] | None = Field(
        None, description="bursts: time for which the workload sends at the rate"
    )
    off: Annotated[int, Duration("1us", "1h")] | None = Field(None, description="bursts: pause after that")


class CopySource(Table):
    """The buffer from which request bodies are copied. Without it every body is one pattern that stays in the cache."""

    bytes: Annotated[int, within("size", SourceBytes)] = Field(
        "128MiB", validate_default=True, description="size; larger than the caches for copies from memory"
    )
    order: SourceOrder = Field("rotating", description="rotating: each request takes the next part; hot: the same one")


class Copies(Table):
    """How bodies come into packets. With a source the client copies the bodies of requests from it; without a source the server's handler
    names the copies of responses, as `fs_read` does."""

    engine: Text = Field("cpu", min_length=1, description="copier; `windtunnel copiers` lists them with their options")
    options: CopierOptions = Field(default_factory=dict, description="options of the copier")
    depth: CopyDepth = Field(64, description="most copies of one application that the copier has at a time")
    batch: Batched = Field(32, description="most copies of one submit, and of one poll")
    way: CopyWay = Field(
        "pipelined",
        description="pipelined: a packet leaves when its copy has ended; wait_all: when the copies of its burst have; zero: no copy, "
        "the packet refers to the source",
    )
    at_least: CopySize = Field(
        "0B",
        validate_default=True,
        description="the CPU makes smaller copies; auto: the size is measured before the run (needs a source)",
    )
    verify: bool = Field(False, description="the receiver checks every byte; a wrong one makes the run invalid")
    timeout: Annotated[int, Duration("1ms", "1h")] = Field(
        "1s", validate_default=True, description="a copy that has not ended after this time makes the run invalid"
    )


class Stream(Table):
    """A TCP connection: the client writes, the server reads. There is no handler; a write takes the place of a request."""

    write: Annotated[int, within("size", StreamWrite)] = Field(
        "1MiB", validate_default=True, description="size of a write, a multiple of 64 bytes; it counts as a message"
    )
    send_buffer: Annotated[int, within("size", StreamBuffer)] | None = Field(
        None,
        description="most bytes written and not acknowledged; default: four writes, 256 KiB to 4 MiB, but at least two writes",
    )
    receive_buffer: Annotated[int, within("size", StreamBuffer)] | None = Field(
        None, description="most bytes received and not read; default: the size of the send buffer"
    )
    read: Annotated[int, within("size", StreamRead)] = Field(
        "64KiB", validate_default=True, description="most bytes of one read"
    )
    congestion: Congestion = Field("cubic", description="congestion control of the sender")
    checksum: bool = Field(True, description="TCP checksums in software; false: none; Windtunnel must run both ends")
