"""Sizes of a TCP stream: its buffers, and what they hold."""

from windtunnel.scenario.traffic_keys import Stream

IP_TCP_HEADER_BYTES = 40
_KIB, _MIB = 1 << 10, 1 << 20
_WRITES_IN_BUFFER, _LEAST_BUFFER, _MOST_BUFFER = 4, 256 * _KIB, 8 * _MIB


def send_buffer_bytes(stream: Stream) -> int:
    if stream.send_buffer is not None:
        return stream.send_buffer
    return max(_LEAST_BUFFER, min(_WRITES_IN_BUFFER * stream.write, _MOST_BUFFER))


def receive_buffer_bytes(stream: Stream) -> int:
    return send_buffer_bytes(stream) if stream.receive_buffer is None else stream.receive_buffer


def writes_in_flight(stream: Stream) -> int:
    """Writes that the send buffer holds."""
    return send_buffer_bytes(stream) // stream.write


def segments_of_write(stream: Stream, mtu: int) -> int:
    """Packets that carry one write, as TCP without options cuts it."""
    return -(-stream.write // (mtu - IP_TCP_HEADER_BYTES))
