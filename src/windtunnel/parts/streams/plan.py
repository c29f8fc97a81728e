"""What the plan says of a TCP stream."""

from typing import Annotated, Any, Literal, cast

from pydantic import Field

from windtunnel.engine.plan_values import MAX_MESSAGE_BYTES, Part, cpp

StreamWrite = Annotated[int, Field(ge=64, le=MAX_MESSAGE_BYTES)]
StreamBuffer = Annotated[int, Field(ge=4096, le=1 << 30)]
StreamRead = Annotated[int, Field(ge=1, le=1 << 30)]
Congestion = Literal["none", "reno", "cubic"]


class Stream(Part):
    """One TCP connection for each application: the client writes to it, from the source, and the server reads."""

    write_bytes: StreamWrite = Field(description="of one write, a multiple of 64: a message")
    send_buffer_bytes: StreamBuffer = Field(description="what is written and not acknowledged; at least one write")
    receive_buffer_bytes: StreamBuffer
    read_bytes: StreamRead = Field(description="most of one read")
    congestion: Annotated[Congestion, cpp("congestion")]
    checksums: bool = Field(description="of TCP, in software; false: 0, and none is checked")


WORKLOAD = {
    "stream": (
        Stream | None,
        Field(None, description="null: messages over UDP; given: no handler, and requests have no sizes"),
    )
}


def stream_of(workload: Part) -> Stream | None:
    """The stream of a plan's workload; None if it has messages."""
    return cast(Stream | None, cast(Any, workload).stream)
