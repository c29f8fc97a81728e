"""The account of each end of a TCP connection, which the result closes."""

from typing import Any, Literal, cast

from pydantic import Field

from windtunnel.engine.line_model import Line
from windtunnel.engine.plan_values import Side

StreamState = Literal["idle", "connecting", "listening", "open", "peer finished", "finishing", "closed", "reset"]


class StreamChecks(Line):
    """Bytes that a server compared with the source."""

    bytes: int
    wrong_bytes: int = Field(description="anything but 0 makes the run invalid")
    first_wrong: int | None = Field(description="its position in the stream")


class StreamLedger(Line):
    """One end of one TCP connection: written = acknowledged + buffered."""

    workload: int
    endpoint: Side
    application: int
    state: StreamState = Field(
        description="closed: its FIN is acknowledged. A client's is anything else only in a run that was cut short"
    )
    written: int = Field(description="bytes given to TCP")
    acknowledged: int = Field(description="of these, by the peer's numbers")
    buffered: int = Field(description="and what the send buffer still holds")
    missing: int = Field(description="written - acknowledged - buffered; anything but 0 makes the run invalid")
    read: int = Field(description="bytes that the application read")
    checked: StreamChecks | None = Field(description="null: not asked for")
    sent_segments: int
    retransmitted_segments: int
    timeouts: int = Field(description="retransmissions after a second or more without progress, the least RTO")
    window_probes: int


RESULT: dict[str, Any] = {"streams": (list[StreamLedger], Field([]))}


def streams_of(result: Line) -> list[StreamLedger]:
    """The ledgers of a result."""
    return cast(list[StreamLedger], cast(Any, result).streams)
