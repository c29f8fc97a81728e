"""What is shown of copies."""

from collections.abc import Iterator, Sequence
from typing import cast

from windtunnel import format as fmt
from windtunnel.parts.copies.rows import NAME, NOUN, CopyRow
from windtunnel.results.document import Section, Sentence, Table, columns_of
from windtunnel.results.metric_columns import metric_columns
from windtunnel.runs.summary import Summary


def sections(summary: Summary) -> Iterator[Section]:
    """How the bodies of requests came from their source, and a line for each reason for which the CPU copied in a copier's place."""
    rows = cast(Sequence[CopyRow], summary.parts.get(NAME, ()))
    if not rows:
        return
    column = columns_of(rows)
    table = Table(
        [
            column("copies of", lambda r: r.workload, words=True),
            column("copier", lambda r: r.engine, words=True),
            column("kind", lambda r: r.kind or fmt.DASH, words=True),
            column("way", lambda r: r.way, words=True, spare=1),
            *metric_columns(NOUN, rows).values(),
        ]
    )
    reasons = [
        f"{row.workload}, copies by the CPU: {', '.join(f'{name} {fmt.count(n)}' for name, n in row.by_cpu.items())}"
        for row in rows
        if row.by_cpu
    ]
    yield Section(
        "Copies",
        [table, *(Sentence(words, tone="quiet") for words in reasons)],
        about="How the bodies of requests came from their source into packets. The share of the core is that of the workers that run app_tx; what "
        "a copier’s own thread or engine takes is not in it. Freed is what the CPU’s own copies of these sizes cost before the run, less the "
        "submits and polls, per copy.",
    )
