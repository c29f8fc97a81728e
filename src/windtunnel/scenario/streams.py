"""TCP streams in the plan's words, and the memory that they take."""

from windtunnel.engine import plan as plans
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.stream_sizes import receive_buffer_bytes, send_buffer_bytes


def buffers_bytes(scenario: Scenario) -> int:
    """Memory of the buffers of all streams at one end."""
    return sum(
        workload.apps * (send_buffer_bytes(workload.stream) + receive_buffer_bytes(workload.stream))
        for workload in scenario.workload
        if workload.stream
    )


def plan_stream(scenario: Scenario, index: int) -> plans.Stream | None:
    """The stream in the plan's words; None: the workload has messages."""
    stream = scenario.workload[index].stream
    if stream is None:
        return None
    return plans.Stream(
        write_bytes=stream.write,
        send_buffer_bytes=send_buffer_bytes(stream),
        receive_buffer_bytes=receive_buffer_bytes(stream),
        read_bytes=stream.read,
        congestion=stream.congestion,
        checksums=stream.checksum,
    )
