"""What `check` says of a TCP stream."""

from windtunnel.engine.plan import Workload
from windtunnel.parts.streams.plan import stream_of
from windtunnel.scenario.quantities import write


def workload_text(workload: Workload) -> str | None:
    """What a workload does, as `check` says it; None if it has messages."""
    stream = stream_of(workload)
    if stream is None:
        return None
    buffers = f"buffers {write('size', stream.send_buffer_bytes)} to send, {write('size', stream.receive_buffer_bytes)} to receive"
    return f"a TCP stream in writes of {write('size', stream.write_bytes)}, {buffers}"
