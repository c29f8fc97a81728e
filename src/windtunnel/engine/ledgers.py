"""Ledgers of the engine's lines: the accounts of a whole run, which its result closes. A `missing` other than 0 makes a run invalid."""

from pydantic import Field

from windtunnel.engine.line_model import Line
from windtunnel.engine.plan_values import Side


class MbufLedger(Line):
    """allocated = freed + held: `held` names each owner that still had some when the workers had stopped."""

    endpoint: Side
    size: int
    free: int
    held: dict[str, int]
    missing: int = Field(description="size - free - held; anything but 0 makes the run invalid")


class PacketLedger(Line):
    """Packets of one direction, if both ends are ours: sent + duplicated = received + dropped by name + in the wire."""

    source: Side
    sent: int
    duplicated: int
    received: int
    dropped: dict[str, int]
    in_wire: int
    missing: int


class MessageLedger(Line):
    """sent = responses + lost + in flight, over the whole run, warm-up included."""

    workload: int
    offered: int
    unsent: int
    sent: int
    responses: int
    lost: int
    late: int
    duplicates: int
    negative_latency: int | None = Field(
        None, description="responses whose stamp lies before that of their request; null: an older record"
    )
    in_flight: int
    missing: int
