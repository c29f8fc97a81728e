"""Rows of TCP streams. Windows count a stream's writes as messages; what else is known of it stands in the result."""

from collections.abc import Iterable, Sequence

from windtunnel.engine.ledgers import StreamLedger
from windtunnel.engine.plan import Plan
from windtunnel.engine.windows import Window
from windtunnel.runs.metrics import measured, ratio, seconds
from windtunnel.runs.rows import StreamRow

STREAM_OBJECTS = "of a stream, app_tx counts writes as its objects, and app_rx reads; on the client app_rx counts the writes that were acknowledged"
"""A note below the stages' table."""


def stream_rows(windows: Iterable[Window], plan: Plan, ledgers: Sequence[StreamLedger]) -> list[StreamRow]:
    """One for each end of a workload's connections, all its applications together, the client first."""
    chosen = measured(windows)
    ends: dict[tuple[int, str], list[StreamLedger]] = {}
    for ledger in ledgers:
        ends.setdefault((ledger.workload, ledger.endpoint), []).append(ledger)
    return [_row(plan, members, chosen) for _, members in sorted(ends.items())]


def acknowledged_bits(windows: Iterable[Window], plan: Plan, workload: int) -> int:
    """Bits of a workload's writes whose last byte was acknowledged in these windows."""
    stream = plan.workloads[workload].stream
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
