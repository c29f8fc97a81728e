"""What OpenMetrics have of TCP streams."""

from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from windtunnel.engine.counted import CountedField
from windtunnel.engine.plan import Plan
from windtunnel.engine.windows import Window
from windtunnel.parts.streams.plan import stream_of

ACKNOWLEDGED = "stream_acknowledged_bytes"
LABELS: Mapping[str, tuple[str, ...]] = {}
COUNTED: Mapping[str, tuple[CountedField, ...]] = {}
SUMS = {ACKNOWLEDGED: ("Bytes of a stream's writes that the peer has acknowledged", ("workload",))}
"""Sums with what they count and their labels."""


def counted(plan: Plan, window: Window) -> Iterator[tuple[str, tuple[str, ...], BaseModel]]:
    """Streams have no lines of their own in a window: a write counts as a message."""
    return iter(())


def added(plan: Plan, window: Window) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """What a window adds to the sums, with the values of the labels."""
    for part in window.workloads:
        workload = plan.workloads[part.workload]
        if stream := stream_of(workload):
            yield ACKNOWLEDGED, (workload.name,), stream.write_bytes * part.responses
