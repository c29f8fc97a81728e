"""The keys of a TCP stream in a scenario."""

from typing import Annotated, Any, cast

from pydantic import Field

from windtunnel.parts.streams.plan import Congestion, StreamBuffer, StreamRead, StreamWrite
from windtunnel.scenario.quantities import within
from windtunnel.scenario.table import Table


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


WORKLOAD = {"stream": (Stream | None, Field(None, description="a TCP stream instead of messages over UDP"))}


def stream_keys(workload: Table) -> Stream | None:
    """The table of a scenario's workload; None if it has messages."""
    return cast(Stream | None, cast(Any, workload).stream)
