"""Rows of TCP streams. Windows count a stream's writes as messages; what else is known of it stands in the result."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from windtunnel.engine.lines import Hello, Result
from windtunnel.engine.plan import Plan
from windtunnel.engine.windows import Window
from windtunnel.parts.streams.ledger import StreamLedger, streams_of
from windtunnel.parts.streams.plan import stream_of
from windtunnel.runs.metrics import measured, ratio, seconds

NAME = "streams"
"""The rows' name in a summary."""
NOUN = "stream"
"""What their metrics are of."""


@dataclass(frozen=True)
class StreamRow:
    """One end of a workload's TCP connections, all its applications together. Counts are of the whole run."""

    workload: str
    endpoint: str
    state: str
    """State at the end of the run; the states of several connections in one line."""
    gbps: float | None
    """Acknowledged in the measured windows; None on a server."""
    written: int | None
    """Bytes, as the following ones; those that only a client has are None on a server."""
    acknowledged: int | None
    buffered: int | None
    read: int
    checked: int | None
    """None: nobody compared them."""
    wrong: int | None
    sent_segments: int
    retransmitted_segments: int
    timeouts: int
    window_probes: int


def rows_of(windows: Iterable[Window], hello: Hello, plan: Plan, result: Result | None) -> list[StreamRow]:
    """One for each end of a workload's connections, all its applications together, the client first."""
    chosen = measured(windows)
    ends: dict[tuple[int, str], list[StreamLedger]] = {}
    for ledger in streams_of(result) if result else ():
        ends.setdefault((ledger.workload, ledger.endpoint), []).append(ledger)
    return [_row(plan, members, chosen) for _, members in sorted(ends.items())]


def acknowledged_bits(windows: Iterable[Window], plan: Plan, workload: int) -> int:
    """Bits of a workload's writes whose last byte was acknowledged in these windows."""
    stream = stream_of(plan.workloads[workload])
    assert stream is not None
    writes = sum(part.responses for window in windows for part in window.workloads if part.workload == workload)
    return 8 * stream.write_bytes * writes


def _row(plan: Plan, members: list[StreamLedger], windows: list[Window]) -> StreamRow:
    workload, endpoint = members[0].workload, members[0].endpoint
    client = endpoint == "client"
    checks = [member.checked for member in members if member.checked]
    return StreamRow(
        workload=plan.workloads[workload].name,
        endpoint=endpoint,
        state=", ".join(dict.fromkeys(member.state for member in members)),
        gbps=ratio(acknowledged_bits(windows, plan, workload) / 1e9, seconds(windows)) if client else None,
        written=sum(member.written for member in members) if client else None,
        acknowledged=sum(member.acknowledged for member in members) if client else None,
        buffered=sum(member.buffered for member in members) if client else None,
        read=sum(member.read for member in members),
        checked=sum(check.bytes for check in checks) if checks else None,
        wrong=sum(check.wrong_bytes for check in checks) if checks else None,
        sent_segments=sum(member.sent_segments for member in members),
        retransmitted_segments=sum(member.retransmitted_segments for member in members),
        timeouts=sum(member.timeouts for member in members),
        window_probes=sum(member.window_probes for member in members),
    )


def other_objects(rows: Sequence[StreamRow]) -> frozenset[str]:
    """Endpoints whose stages do not all count packets: of a stream, applications count writes and reads."""
    return frozenset(row.endpoint for row in rows)


OBJECTS = "of a stream, app_tx counts writes as its objects, and app_rx reads; on the client app_rx counts the writes that were acknowledged"
"""A note beside the stages of such endpoints."""


def by_workload(rows: Sequence[StreamRow]) -> dict[str, StreamRow]:
    """The row that a study's table has of each workload: that of the client's end."""
    return {row.workload: row for row in rows if row.endpoint == "client"}
