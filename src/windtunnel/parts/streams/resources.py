"""What TCP streams need of a run (`windtunnel.scenario.part_resources`): memory for their buffers."""

from collections.abc import Sequence
from typing import Any

from windtunnel.engine.plan_values import Side
from windtunnel.parts.streams import plan as plans
from windtunnel.parts.streams import sizes
from windtunnel.parts.streams.keys import Stream, stream_keys
from windtunnel.scenario.host import HostView
from windtunnel.scenario.keys import Scenario


def memory_bytes(scenario: Scenario, side: Side, host: HostView) -> int:
    """Memory of the buffers of all streams at one end."""
    streams = [(workload, stream) for workload in scenario.workload if (stream := stream_keys(workload))]
    return sum(
        workload.apps * (sizes.send_buffer_bytes(stream) + sizes.receive_buffer_bytes(stream))
        for workload, stream in streams
    )


def plan_fields(scenario: Scenario, index: int, lcores: Sequence[int], free_cpu: int | None) -> dict[str, Any]:
    """What the plan's workload says of it."""
    stream = stream_keys(scenario.workload[index])
    return {"stream": _planned(stream) if stream else None}


def _planned(stream: Stream) -> plans.Stream:
    return plans.Stream(
        write_bytes=stream.write,
        send_buffer_bytes=sizes.send_buffer_bytes(stream),
        receive_buffer_bytes=sizes.receive_buffer_bytes(stream),
        read_bytes=stream.read,
        congestion=stream.congestion,
        checksums=stream.checksum,
    )
