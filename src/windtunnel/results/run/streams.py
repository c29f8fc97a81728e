"""What a run shows of its TCP streams."""

from collections.abc import Iterator, Sequence

from windtunnel.results.document import Section, Table, columns_of
from windtunnel.results.metric_columns import metric_columns
from windtunnel.runs.rows import StreamRow


def stream_section(rows: Sequence[StreamRow]) -> Iterator[Section]:
    """TCP streams by end: what moved, and what TCP did for it."""
    if not rows:
        return
    column = columns_of(rows)
    table = Table(
        [
            column("stream", lambda r: r.workload, words=True),
            column("end", lambda r: r.endpoint, words=True),
            column("state", lambda r: r.state, words=True),
            *metric_columns("stream", rows).values(),
        ]
    )
    yield Section(
        "Streams",
        [table],
        about="TCP connections, by their ends. Gbit/s are those of writes that were acknowledged in the measured windows; bytes and segments are of "
        "the whole run. Written is acknowledged and buffered.",
    )
