"""How a TCP stream carries a workload's traffic (`windtunnel.scenario.carriers` says what a carrier has)."""

from windtunnel.parts.streams import sizes
from windtunnel.parts.streams.checks import check, check_endpoint
from windtunnel.parts.streams.keys import Stream, stream_keys
from windtunnel.scenario.keys import Workload

__all__ = [
    "NAME",
    "RELIABLE",
    "carries",
    "check",
    "check_endpoint",
    "longest_call_ns",
    "mbufs_of_message",
    "most_in_flight",
]
NAME = "stream"
RELIABLE = True


def carries(workload: Workload) -> bool:
    return stream_keys(workload) is not None


def most_in_flight(workload: Workload) -> int:
    """The writes that the send buffer holds."""
    return sizes.writes_in_flight(_stream(workload))


def mbufs_of_message(workload: Workload, mtu: int, by_copy: bool) -> int:
    """Data one way, as many acknowledgements at the most the other way."""
    return sizes.segments_of_write(_stream(workload), mtu) * (2 if by_copy else 1)


def longest_call_ns(workload: Workload) -> int:
    return sizes.longest_call_ns(_stream(workload))


def _stream(workload: Workload) -> Stream:
    stream = stream_keys(workload)
    assert stream is not None
    return stream
