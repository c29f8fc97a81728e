"""A run in the terminal: the tables that `run` ends with and `show` prints."""

from collections.abc import Callable, Sequence
from math import isnan
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from windtunnel import format as fmt
from windtunnel.engine.verdict import Verdict
from windtunnel.measure.earlier import Earlier, line
from windtunnel.pcie.measured import measured_with_run
from windtunnel.pcie.run_estimate import shown_ports
from windtunnel.runs.counters import EventRow, event_rows
from windtunnel.runs.intervals import lines, percentile_rows
from windtunnel.runs.joined import SIDES, Crossing, Joined, crossings, on_two_hosts
from windtunnel.runs.labels import words as label_words
from windtunnel.runs.notices import notices
from windtunnel.runs.reader import Run
from windtunnel.runs.record import EngineRecord, ForeignValue, Imported, Record
from windtunnel.runs.rows import (
    CopyRow,
    Middle,
    PhaseRow,
    PortRow,
    StageRow,
    StreamRow,
    VariantRow,
    WorkerRow,
    WorkloadRow,
)
from windtunnel.runs.streams import STREAM_OBJECTS
from windtunnel.runs.summary import Summary, rejected_words, summarise
from windtunnel.runs.validity import Validity, windows_of
from windtunnel.views.terminal.columns import Column, Fitting
from windtunnel.views.terminal.metric_columns import columns
from windtunnel.views.terminal.pcie import view as pcie_view
from windtunnel.views.terminal.rejected import Rejected
from windtunnel.views.terminal.steps import handler_counters, step_table

_BAR_CELLS = 8
NOTICE_STYLES = {"warning": "yellow", "note": "dim"}
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


def run_view(run: Run, earlier: Earlier | None = None) -> RenderableType:
    """Everything of one run, and where it stands among the earlier ones. The metrics of an invalid run stand below its reasons, marked
    as rejected."""
    record = run.record
    parts: list[RenderableType] = [_two_hosts(record), header(record)] if on_two_hosts(run) else [header(record)]
    if not record.verdict.valid:
        parts += [reasons_view(record.verdict, "metrics rejected" if run.rejected else "no window was measured")]
    if run.rejected:
        parts += [Text(rejected_words(run), style="red"), Text()]
    if run.has_metrics:
        summary = summarise(run)
        tables = _metrics(run, summary)
        parts += [Rejected(tables) if run.rejected else tables]
        parts += [ledger_line(record.engines)] if record.engines else []
        parts += [Text(f"{each.kind}: {each.words}", style=NOTICE_STYLES[each.kind]) for each in notices(run, summary)]
        parts += [Text(line(earlier))] if earlier else []
        parts += [_not_judged(record.imported) if record.imported else verdict_line(run)]
    parts += [Text(f"warning: {problem}", style="yellow") for problem in run.problems]
    return Group(*parts)


def _metrics(run: Run, summary: Summary) -> RenderableType:
    """All tables of a run."""
    validity, imported = run.record.validity, run.record.imported
    parts: list[RenderableType] = [state_view(validity)] if validity and validity.states else []
    parts += [Text(validity.settled_words, style="dim")] if validity and validity.settled_words else []
    parts += [Text()] if parts else []
    parts += [stage_table(summary.stages), Text(), drops(summary.stages), Text()] if summary.stages else []
    parts += [Text(STREAM_OBJECTS, style="dim"), Text()] if summary.streams else []
    parts += [step_table(summary.steps), Text()] if summary.steps else []
    parts += [handler_counters(summary.counters), Text()] if summary.counters else []
    parts += [worker_table(summary.workers), Text()] if summary.workers else []
    parts += [latency_table(summary.workloads)] if summary.workloads else []
    parts += [Text(words, style="dim") for words in lines(percentile_rows(run))]
    parts += [Text()] if summary.workloads else []
    parts += [copy_table(summary.copies), Text()] if summary.copies else []
    parts += [stream_table(summary.streams), Text()] if summary.streams else []
    parts += [phase_table(summary.phases), Text()] if summary.phases else []
    parts += [variant_table(summary.variants), Text()] if summary.variants else []
    parts += [port_table(summary.ports), Text()] if summary.ports else []
    parts += [pcie_view(links, measured_with_run(run.path)), Text()] if (links := shown_ports(run)) else []
    parts += [event_table(events), Text()] if (events := event_rows(run)) else []
    parts += [value_table(imported.values), Text()] if imported else []
    parts += [crossing_table(crossed), Text()] if (crossed := crossings(run)) else []
    return Group(*parts)


def joined_view(joined: Joined) -> RenderableType:
    """Both sides of a run on two hosts, as one run, and where they are."""
    return Group(run_view(joined), *(Text(f"{side:<7}{path}", style="dim") for side, path in joined.paths.items()))


def _two_hosts(record: Record) -> RenderableType:
    where = " · ".join(f"{side} on {record.host[side].get('hostname')}" for side in SIDES)
    return Text(f"two hosts: {where}", style="dim")


def crossing_table(rows: Sequence[Crossing]) -> RenderableType:
    """Packets between two hosts over the whole run, each counted by the host's own port."""
    column = _columns_of(rows)
    return Fitting(
        [
            column("packets from", lambda r: r.source, words=True),
            column("sent", lambda r: fmt.count(r.sent)),
            column("received", lambda r: fmt.count(r.received)),
            column("lost between hosts", lambda r: _loss(r.lost)),
            column("other frames", lambda r: fmt.count(r.foreign), spare=1),
        ]
    )


def header(record: Record) -> RenderableType:
    """Title and question, how it ran, emulated faults, and notes."""
    lines = [Text(record.title, style="bold")]
    lines += [Text(record.question, style="italic")] if record.question else []
    how = f"wire {record.wire} · memory {record.memory} · accounting {record.accounting}"
    if record.imported:
        how = f"imported from {record.imported.tool}: {record.imported.file}"
    lines.append(Text(how, style="dim"))
    lines += [Text(mark, style="bold magenta") for mark in record.emulated]
    lines += [Text(f"labels {label_words(record.labels)}", style="dim")] if record.labels else []
    lines += [Text(f"note: {note}", style="dim") for note in record.all_notes()]
    return Group(*lines, Text())


def state_view(validity: Validity) -> RenderableType:
    """Host states of the run, with what was measured in each; one alone is a line."""
    if len(validity.states) == 1:
        return Text(f"host state: {validity.states[0].words}", style="dim")
    rows = validity.states
    column = _columns_of(rows)
    workloads = list(rows[0].responses_per_s)
    several = len(workloads) > 1
    states = Fitting(
        [
            column("host state", lambda s: f"{s.name}  (metrics)" if validity.of_metrics(s) else s.name, words=True),
            column("windows", lambda s: str(s.windows)),
            column("line", lambda s: fmt.number(s.line_ns, 0) + " ns" if s.line_ns else fmt.DASH),
            *(
                column(
                    f"{name} responses" if several else "responses",
                    lambda s, n=name: fmt.rate(s.responses_per_s.get(n)),
                )
                for name in workloads
            ),
            *(
                column(f"{name} p50" if several else "p50", lambda s, n=name: fmt.duration(s.p50_ns.get(n)))
                for name in workloads
            ),
        ]
    )
    several_topologies = len({state.name.partition(" [")[0].partition(", ")[0] for state in rows}) > 1
    return Group(states, Text(), _stage_times(validity)) if several_topologies else states


def _stage_times(validity: Validity) -> RenderableType:
    """What a packet costs in each stage, in each state: what two L3s cost against one."""
    states, stages = validity.states, validity.stages
    column = _columns_of(stages)
    return Fitting(
        [
            column("work and stall, ns per packet", lambda stage: stage, words=True),
            *(column(s.name, lambda stage, s=s: fmt.number(s.stage_ns.get(stage))) for s in states),
        ]
    )


def stage_table(rows: Sequence[StageRow]) -> RenderableType:
    """Stages by endpoint; times are ns per packet, busy and idle are shares of the time of the workers that run the stage."""
    starts = [n for n, row in enumerate(rows) if n == 0 or row.endpoint != rows[n - 1].endpoint]
    column = _columns_of(rows)
    by_name = {}
    for name, made in columns("stage", rows).items():
        by_name[name] = made
        if name == "mean_burst":
            by_name["bar"] = column("", _bar, spare=4)
    return Fitting(
        [
            Column("", [row.endpoint if n in starts else "" for n, row in enumerate(rows)], words=True),
            column("stage", lambda r: r.stage if r.instances in (None, 1) else f"{r.stage} ×{r.instances}", words=True),
            *by_name.values(),
        ],
        sections=starts[1:],
    )


def worker_table(rows: Sequence[WorkerRow]) -> RenderableType:
    """Shares of each worker's time, which add up to 1, and the share in which the kernel preempted it."""
    column = _columns_of(rows)
    return Fitting(
        [
            column("workers", lambda r: r.sides, words=True),
            column("CPU", lambda r: str(r.cpu)),
            *columns("worker", rows).values(),
        ]
    )


def latency_table(rows: Sequence[WorkloadRow]) -> RenderableType:
    """Workloads as the client saw them; latency from the intended send time, in an open loop also from the real one."""
    column = _columns_of(rows)
    return Fitting(
        [
            column("workload", lambda r: r.workload, words=True),
            column("loop", lambda r: r.loop, words=True),
            *columns("workload", rows).values(),
        ]
    )


def copy_table(rows: Sequence[CopyRow]) -> RenderableType:
    """How the bodies of requests came from their source, and a line for each reason for which the CPU copied in a copier's place."""
    column = _columns_of(rows)
    table = Fitting(
        [
            column("copies of", lambda r: r.workload, words=True),
            column("copier", lambda r: r.engine, words=True),
            column("kind", lambda r: r.kind or fmt.DASH, words=True),
            column("way", lambda r: r.way, words=True, spare=1),
            *columns("copies", rows).values(),
        ]
    )
    reasons = [
        f"{row.workload}, copies by the CPU: {', '.join(f'{name} {fmt.count(n)}' for name, n in row.by_cpu.items())}"
        for row in rows
        if row.by_cpu
    ]
    return Group(table, *(Text(words, style="dim") for words in reasons))


def stream_table(rows: Sequence[StreamRow]) -> RenderableType:
    """TCP streams by end: what moved, and what TCP did for it."""
    column = _columns_of(rows)
    return Fitting(
        [
            column("stream", lambda r: r.workload, words=True),
            column("end", lambda r: r.endpoint, words=True),
            column("state", lambda r: r.state, words=True),
            *columns("stream", rows).values(),
        ]
    )


def phase_table(rows: Sequence[PhaseRow]) -> RenderableType:
    """Workloads in each phase of their load, over the windows that lie entirely in it, and the share of excluded windows."""
    starts = [n for n, row in enumerate(rows) if n == 0 or row.workload != rows[n - 1].workload]
    column = _columns_of(rows)

    results = columns("workload", rows, lambda row: row.result)
    table = Fitting(
        [
            Column("phases of", [row.workload if n in starts else "" for n, row in enumerate(rows)], words=True),
            column("", lambda r: str(r.phase)),
            column("load", lambda r: r.load, words=True),
            column("seconds", lambda r: fmt.number(r.counted_s, 2)),
            column("excluded", lambda r: fmt.percent(r.left_out, 0), spare=1),
            *(results[name] for name in _OF_A_PHASE),
        ],
        sections=starts[1:],
    )
    excluded = 1 - sum(row.counted_s for row in rows) / sum(row.measured_s for row in rows)
    words = f"excluded, because windows cross phases: {fmt.percent(max(excluded, 0))} of the time"
    return Group(table, Text(words, style="dim"))


def variant_table(rows: Sequence[VariantRow]) -> RenderableType:
    """Variants of a run that changed between windows; the metrics of the run are of the first one."""
    column = _columns_of(rows)
    delayed = any(row.delay_ns for row in rows)
    table = Fitting(
        [
            column("variant", lambda r: f"{r.name}  (metrics)" if r is rows[0] else r.name, words=True),
            column("windows", lambda r: str(r.windows)),
            column("ns per message", lambda r: fmt.number(r.ns_per_message.median if r.ns_per_message else None, 2)),
            column("95% interval", lambda r: _interval(r.ns_per_message)),
            *([column("delay", lambda r: fmt.number(r.delay_ns, 2), spare=1)] if delayed else []),
            column("responses", lambda r: fmt.rate(r.responses_per_s)),
            column("p50", lambda r: fmt.duration(r.p50)),
            column("p99", lambda r: fmt.duration(r.p99)),
        ]
    )
    excluded = sum(row.measured - row.windows for row in rows)
    words = f"{excluded} of {sum(row.measured for row in rows)} windows of all variants are excluded"
    return Group(table, Text(words, style="dim")) if excluded else table


def _interval(middle: Middle | None) -> str:
    if middle is None or middle.low is None:
        return fmt.DASH
    return f"[{fmt.number(middle.low, 2)} .. {fmt.number(middle.high, 2)}]"


def port_table(rows: Sequence[PortRow]) -> RenderableType:
    """Endpoints' totals, counted at their ports; bits are those of mbufs, without FCS and gaps."""
    column = _columns_of(rows)
    return Fitting(
        [
            column("port of", lambda r: r.endpoint, words=True),
            *columns("port", rows).values(),
        ]
    )


def drops(rows: Sequence[StageRow]) -> RenderableType:
    """Every drop by its reason, a line for each stage."""
    dropping = [row for row in rows if row.drops]
    if not dropping:
        return Text("drops: none" if any(row.drops is not None for row in rows) else "drops: not reported", style="dim")
    grid = Table.grid(padding=(0, 2, 0, 0))
    for position, row in enumerate(dropping):
        names = ", ".join(f"{name} {fmt.count(n)}" for name, n in (row.drops or {}).items())
        grid.add_row("" if position else "drops:", f"{row.endpoint} {row.stage}", Text(names, style="red"))
    return grid


def value_table(values: Sequence[ForeignValue]) -> RenderableType:
    """Other values that the tool printed."""
    column = _columns_of(values)
    return Fitting(
        [
            column("of", lambda f: f.of, words=True),
            column("value of", lambda f: f.name, words=True),
            column("value", lambda f: f"{f.value:,.10g}"),
            column("unit", lambda f: f.unit, words=True),
        ]
    )


def event_table(rows: Sequence[EventRow]) -> RenderableType:
    """What the kernel counted for the workers' threads; of what it could not count, why."""
    column = _columns_of(rows)
    return Fitting(
        [
            column("event", lambda r: r.event, words=True),
            column("CPU", lambda r: str(r.cpu)),
            column("count", lambda r: fmt.number(r.value, 0)),
            column("unit", lambda r: r.unit, words=True),
            column("per message", lambda r: fmt.number(r.a_message, 4)),
            column("", lambda r: r.words or "", words=True),
        ]
    )


def ledger_line(engines: Sequence[EngineRecord]) -> Text:
    """Whether mbufs, packets and messages are all accounted for, or what is missing."""
    missing = missing_of(engines)
    if missing is None:
        return Text("ledger: none, an engine gave no result", style="red")
    if missing:
        return Text("ledger open: " + ", ".join(missing), style="red")
    return Text("ledger: closed, every mbuf, packet and message accounted for", style="green")


def missing_of(engines: Sequence[EngineRecord]) -> list[str] | None:
    """The missing objects of the ledgers, in words; None where an engine gave no result."""
    missing: list[str] = []
    for engine in engines:
        if engine.result is None:
            return None
        names = [workload.name for workload in engine.plan.workloads]
        missing += [f"{m.missing:,} mbufs of the {m.endpoint}" for m in engine.result.mbufs if m.missing]
        missing += [f"{p.missing:,} packets from the {p.source}" for p in engine.result.packets if p.missing]
        missing += [f"{s.missing:,} bytes of {names[s.workload]}" for s in engine.result.streams if s.missing]
        missing += [f"{m.missing:,} messages of {names[m.workload]}" for m in engine.result.messages if m.missing]
    return missing


def verdict_line(run: Run) -> Text:
    """The verdict on a run with metrics: with the limits that its scenario relaxed, and the number of windows if some are excluded."""
    record = run.record
    if run.rejected:
        return Text("verdict: invalid, the metrics above are rejected", style="bold red")
    finished, used = windows_of(run.windows), windows_of(run.counted)
    line = Text(f"verdict: {record.verdict_words}", style="bold yellow" if record.relaxed else "bold green")
    line.append(f" ({', '.join(record.relaxed)})" if record.relaxed else "")
    return line.append(f", over {used} of {finished} windows" if used < finished else "")


def reasons_view(verdict: Verdict, what_follows: str) -> RenderableType:
    """Why a run is invalid, and what that means for its metrics, in words."""
    reasons = Group(*(Text(f"• {reason}") for reason in verdict.reasons))
    return Panel(reasons, title=Text(f"invalid: {what_follows}"), title_align="left", border_style="red", expand=False)


def _not_judged(imported: Imported) -> Text:
    words = f"imported: the values are from {imported.tool}; Windtunnel did not measure or check them"
    return Text(words, style="bold magenta")


def _columns_of(rows: Sequence[Any]) -> Callable[..., Column]:
    """Makes a column by what it shows of each of these rows."""

    def column(head: str, show: Callable[[Any], str | Text], **layout: Any) -> Column:
        return Column(head, [show(row) for row in rows], **layout)

    return column


def _bar(row: StageRow) -> Text:
    """Work and stall as parts of the workers' time."""
    if row.busy_share is None:
        return Text()
    stall = _cells(row.stall_share)
    work = max(_cells(row.busy_share) - stall, 0)
    rest = max(_BAR_CELLS - work - stall, 0)
    return Text.assemble(("━" * work, "cyan"), ("━" * stall, "yellow"), ("─" * rest, "bright_black"))


def _cells(share: float | None) -> int:
    """Of a bar, whatever number a record has."""
    return 0 if share is None or isnan(share) else round(min(max(share, 0.0), 1.0) * _BAR_CELLS)


def _loss(count: int | None) -> Text:
    return Text(fmt.count(count), style="red" if count else "")
