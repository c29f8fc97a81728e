"""What is shown of TCP streams."""

from collections.abc import Iterator, Sequence
from typing import cast

from windtunnel.engine.lines import Result
from windtunnel.engine.plan import Plan
from windtunnel.parts.streams.ledger import streams_of
from windtunnel.parts.streams.rows import NAME, NOUN, StreamRow
from windtunnel.results.document import Section, Table, columns_of
from windtunnel.results.metric_columns import metric_columns
from windtunnel.runs.summary import Summary


def sections(summary: Summary) -> Iterator[Section]:
    """TCP streams by end: what moved, and what TCP did for it."""
    rows = _rows(summary)
    if not rows:
        return
    column = columns_of(rows)
    table = Table(
        [
            column("stream", lambda r: r.workload, words=True),
            column("end", lambda r: r.endpoint, words=True),
            column("state", lambda r: r.state, words=True),
            *metric_columns(NOUN, rows).values(),
        ]
    )
    yield Section(
        "Streams",
        [table],
        about="TCP connections, by their ends. Gbit/s are those of writes that were acknowledged in the measured windows; bytes and segments are of "
        "the whole run. Written is acknowledged and buffered.",
    )


def headlines(summary: Summary) -> list[tuple[str, str]]:
    """What each stream moved."""
    return [(f"{row.gbps:,.2f} Gbit/s", row.workload) for row in _rows(summary) if row.gbps is not None]


def missing(plan: Plan, result: Result) -> list[str]:
    """What the ledgers miss."""
    names = [workload.name for workload in plan.workloads]
    return [f"{end.missing:,} bytes of {names[end.workload]}" for end in streams_of(result) if end.missing]


def _rows(summary: Summary) -> Sequence[StreamRow]:
    return cast(Sequence[StreamRow], summary.parts.get(NAME, ()))
