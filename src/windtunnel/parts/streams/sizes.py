"""Sizes of a TCP stream: its buffers, and what they hold."""

from windtunnel.parts.streams.keys import Stream

IP_TCP_HEADER_BYTES = 40
_KIB, _MIB = 1 << 10, 1 << 20
_LEAST_CALL = 64 * _KIB
_LEAST_BUFFER = 256 * _KIB
_MOST_BUFFER = 4 * _MIB
"""A larger one does not stay in the caches: bench/README.md has what that costs."""


def send_buffer_bytes(stream: Stream) -> int:
    if stream.send_buffer is not None:
        return stream.send_buffer
    return max(_LEAST_BUFFER, min(4 * stream.write, _MOST_BUFFER), 2 * stream.write)


def receive_buffer_bytes(stream: Stream) -> int:
    return send_buffer_bytes(stream) if stream.receive_buffer is None else stream.receive_buffer


def longest_call_ns(stream: Stream) -> int:
    """Longest call that counts as work beyond those of messages: a call of app_tx copies a write, or several of up to 64 KiB together, one of
    app_rx reads and checks up to `read` bytes. A microsecond a KiB is more than a core takes, from memory and with each byte checked."""
    return max(stream.write, stream.read, _LEAST_CALL) * 1000 // _KIB


def writes_in_flight(stream: Stream) -> int:
    """Writes that the send buffer holds."""
    return send_buffer_bytes(stream) // stream.write


def segments_of_write(stream: Stream, mtu: int) -> int:
    """Packets that carry one write, as TCP without options cuts it."""
    return -(-stream.write // (mtu - IP_TCP_HEADER_BYTES))
