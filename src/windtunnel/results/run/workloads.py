"""What a run shows of its workloads: latency, the phases of the load, and variants."""

from collections.abc import Iterator, Sequence

from windtunnel import format as fmt
from windtunnel.results.charts.run import latency as latency_chart
from windtunnel.results.document import (
    Block,
    Chart,
    Column,
    Section,
    Sentence,
    Table,
    columns_of,
    first_of_group,
    groups_of,
)
from windtunnel.results.metric_columns import metric_columns
from windtunnel.runs.intervals import lines, percentile_rows
from windtunnel.runs.reader import Run
from windtunnel.runs.rows import Middle, PhaseRow, VariantRow, WorkloadRow
from windtunnel.runs.summary import Summary

_OF_A_PHASE = (
    "offered_per_s",
    "responses_per_s",
    "latency.p50",
    "latency.p90",
    "latency.p99",
    "lost",
    "late",
    "unsent",
)


def latency_section(run: Run, summary: Summary) -> Iterator[Section]:
    """Workloads as the client saw them."""
    if not summary.workloads:
        return
    blocks: list[Block] = [Chart(plot)] if (plot := latency_chart(run)) else []
    blocks.append(workload_table(summary.workloads))
    blocks += [Sentence(words, tone="quiet") for words in lines(percentile_rows(run))]
    yield Section("Latency", blocks, about=_about(summary.workloads))


def _about(rows: Sequence[WorkloadRow]) -> str:
    words = "From the intended send time to the response. The error is at most the time of one burst."
    if any(row.pacing for row in rows):
        words += (
            " From send: from the actual send time, as in tools that do not correct for coordinated omission. Pacing: from the intended send "
            "time to the real one. Unsent: due and waiting at the end of the last window."
        )
    if not all(row.pacing for row in rows):
        words += " Closed loop: a message is sent when a response comes. Its latency is mostly a queue that the client makes itself."
    return words


def workload_table(rows: Sequence[WorkloadRow]) -> Table:
    """Latency from the intended send time, in an open loop also from the real one."""
    column = columns_of(rows)
    workload = column("workload", lambda r: r.workload, words=True)
    return Table(
        [workload, column("loop", lambda r: r.loop, words=True), *metric_columns("workload", rows).values()],
        is_main=True,
    )


def phase_section(rows: Sequence[PhaseRow]) -> Iterator[Section]:
    """Workloads in each phase of their load, over the windows that lie entirely in it, and the share of excluded windows."""
    if not rows:
        return
    excluded = 1 - sum(row.counted_s for row in rows) / sum(row.measured_s for row in rows)
    words = f"excluded, because windows cross phases: {fmt.percent(max(excluded, 0))} of the time"
    yield Section(
        "Phases of the load",
        [_phase_table(rows), Sentence(words, tone="quiet"), *map(_never_whole, filter(_is_empty, rows))],
        about="Over the windows that lie completely in one phase. Windows that cross phases are excluded; the share is of the measured time of "
        "the phase. A response belongs to the phase in which it arrived. Unsent: at the end of the last window.",
    )


def _is_empty(row: PhaseRow) -> bool:
    return row.result is None


def _never_whole(row: PhaseRow) -> Sentence:
    return Sentence(f"no window lies wholly in phase {row.phase} of {row.workload}", tone="quiet")


def _phase_table(rows: Sequence[PhaseRow]) -> Table:
    workloads = [row.workload for row in rows]
    column = columns_of(rows)
    metrics = metric_columns("workload", rows, lambda row: row.result)
    return Table(
        [
            Column("phases of", first_of_group(workloads), words=True),
            column("", lambda r: str(r.phase)),
            column("load", lambda r: r.load, words=True),
            column("seconds", lambda r: fmt.number(r.counted_s, 2)),
            column("excluded", lambda r: fmt.percent(r.left_out, 0), spare=1),
            *(metrics[name] for name in _OF_A_PHASE),
        ],
        groups_of(workloads),
    )


def variant_section(rows: Sequence[VariantRow]) -> Iterator[Section]:
    """Variants of a run that changed between windows."""
    if not rows:
        return
    excluded = sum(row.measured - row.windows for row in rows)
    words = f"{excluded} of {sum(row.measured for row in rows)} windows of all variants are excluded"
    yield Section(
        "Variants",
        [variant_table(rows), *([Sentence(words, tone="quiet")] if excluded else [])],
        about="The run changed between its windows. The metrics of the run are of the first variant.",
    )


def variant_table(rows: Sequence[VariantRow]) -> Table:
    """The metrics of the run are of the first one."""
    column = columns_of(rows)
    delayed = any(row.delay_ns for row in rows)
    return Table(
        [
            column("variant", lambda r: f"{r.name}  (metrics)" if r is rows[0] else r.name, words=True),
            column("windows", lambda r: str(r.windows)),
            column("excluded", lambda r: str(r.measured - r.windows), spare=3),
            column("ns per message", lambda r: fmt.number(r.ns_per_message.median if r.ns_per_message else None, 2)),
            column("95% interval", lambda r: _interval(r.ns_per_message)),
            *([column("delay", lambda r: fmt.number(r.delay_ns, 2), spare=1)] if delayed else []),
            column("responses", lambda r: fmt.rate(r.responses_per_s)),
            column("p50", lambda r: fmt.duration(r.p50)),
            column("p99", lambda r: fmt.duration(r.p99)),
        ]
    )


def _interval(middle: Middle | None) -> str:
    if middle is None or middle.low is None:
        return fmt.DASH
    return f"[{fmt.number(middle.low, 2)} .. {fmt.number(middle.high, 2)}]"
