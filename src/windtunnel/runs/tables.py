"""A run in the terminal: the tables that `run` ends with and `show` prints."""

from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from windtunnel.pcie.measured import measured_beside
from windtunnel.pcie.of_run import ports_of
from windtunnel.pcie.view import view as pcie_view
from windtunnel.runs import format as fmt
from windtunnel.runs.columns import Column, Fitting
from windtunnel.runs.joined import Crossing, Joined
from windtunnel.runs.reader import Run
from windtunnel.runs.record import EngineRecord, Figure, Imported, Record, Verdict
from windtunnel.runs.rows import PhaseRow, PortRow, StageRow, WorkerRow, WorkloadRow
from windtunnel.runs.step_tables import handler_figures, step_table
from windtunnel.runs.summary import summarise, warnings_of
from windtunnel.runs.validity import windows_of

_BAR_CELLS = 8


def run_view(run: Run) -> RenderableType:
    """Everything of one run. An invalid run shows its reasons in the place of its numbers."""
    parts: list[RenderableType] = [header(run.record)]
    if run.record.verdict.valid:
        summary = summarise(run)
        parts += [stage_table(summary.stages), Text(), drops(summary.stages), Text()] if summary.stages else []
        parts += [step_table(summary.steps), Text()] if summary.steps else []
        parts += [handler_figures(summary.figures), Text()] if summary.figures else []
        parts += [worker_table(summary.workers), Text()] if summary.workers else []
        parts += [latency_table(summary.workloads), Text()] if summary.workloads else []
        parts += [phase_table(summary.phases), Text()] if summary.phases else []
        parts += [port_table(summary.ports), Text()] if summary.ports else []
        parts += [pcie_view(ports_of(run), measured_beside(run.path)), Text()] if run.record.engines else []
        parts += [ledger_line(run.record.engines)] if run.record.engines else []
        parts += [figure_table(run.record.imported.figures), Text()] if run.record.imported else []
        parts += [Text(f"warning: {words}", style="yellow") for words in warnings_of(run, summary)]
    parts.append(_not_judged(run.record.imported) if run.record.imported else verdict_view(run.record.verdict, run))
    parts += [Text(f"warning: {problem}", style="yellow") for problem in run.problems]
    return Group(*parts)


def joined_view(joined: Joined) -> RenderableType:
    """Both sides of a flight on two hosts: all of both as one run, and what crossed between them."""
    where = " · ".join(f"{side} on {joined.record.host[side].get('hostname')}" for side in joined.paths)
    parts: list[RenderableType] = [Text(f"two hosts: {where}", style="dim"), run_view(joined)]
    if joined.record.verdict.valid:
        parts += [Text(), crossing_table(joined.crossings)]
    parts += [Text(f"{side:<7}{path}", style="dim") for side, path in joined.paths.items()]
    return Group(*parts)


def crossing_table(rows: Sequence[Crossing]) -> RenderableType:
    """Packets between two hosts over the whole flight, each counted by the host's own port."""
    column = _columns_of(rows)
    return Fitting(
        [
            column("packets from", lambda r: r.source, words=True),
            column("sent", lambda r: fmt.count(r.sent)),
            column("received", lambda r: fmt.count(r.received)),
            column("lost between the hosts", lambda r: _loss(r.lost)),
            column("strangers'", lambda r: fmt.count(r.strangers), spare=1),
        ]
    )


def header(record: Record) -> RenderableType:
    """Title and question, how it flew, what was emulated and what to know."""
    lines = [Text(record.title, style="bold")]
    lines += [Text(record.question, style="italic")] if record.question else []
    how = f"wire {record.wire} · memory {record.memory} · accounting {record.accounting}"
    if record.imported:
        how = f"imported from {record.imported.tool}: {record.imported.file}"
    lines.append(Text(how, style="dim"))
    lines += [Text(mark, style="bold magenta") for mark in record.emulated]
    lines += [Text(f"note: {note}", style="dim") for note in record.all_notes()]
    return Group(*lines, Text())


def stage_table(rows: Sequence[StageRow]) -> RenderableType:
    """Stages by endpoint; times are ns a packet, busy and idle are shares of the time of the workers that run the stage."""
    starts = [n for n, row in enumerate(rows) if n == 0 or row.endpoint != rows[n - 1].endpoint]
    column = _columns_of(rows)
    return Fitting(
        [
            Column("", [row.endpoint if n in starts else "" for n, row in enumerate(rows)], words=True),
            column("stage", lambda r: r.stage if r.instances in (None, 1) else f"{r.stage} ×{r.instances}", words=True),
            column("Mpps", lambda r: fmt.number(r.mpps, 3), width=6),
            column("work ns", lambda r: fmt.number(r.work_ns)),
            column("stall ns", lambda r: Text(fmt.number(r.stall_ns), style="yellow" if r.stall_ns else "")),
            column("burst", lambda r: fmt.number(r.mean_burst), spare=1),
            column("", _bar, spare=4),
            column("busy", lambda r: fmt.percent(r.busy_share), spare=2, width=5),
            column("idle", lambda r: fmt.percent(r.idle_share), spare=3, width=5),
            column("interrupted", lambda r: fmt.percent(r.interrupted_share), spare=5),
            column("empty calls", lambda r: fmt.percent(r.empty_calls_share), spare=6),
            column("drops", lambda r: _loss(r.dropped)),
        ],
        sections=starts[1:],
    )


def worker_table(rows: Sequence[WorkerRow]) -> RenderableType:
    """What each worker's time went into; the shares add up to all of it. Beside them, when the kernel ran somebody else."""
    column = _columns_of(rows)
    return Fitting(
        [
            column("worker of", lambda r: r.sides, words=True),
            column("CPU", lambda r: str(r.cpu)),
            column("work", lambda r: fmt.percent(r.work_share)),
            column("stall", lambda r: fmt.percent(r.stall_share)),
            column("idle", lambda r: fmt.percent(r.idle_share)),
            column("interrupted", lambda r: fmt.percent(r.interrupted_share)),
            column("own traffic", lambda r: fmt.percent(r.traffic_share) if r.traffic_share else fmt.DASH, spare=1),
            column("others ran", lambda r: fmt.percent(r.preempted_share), spare=1),
            column("Mloops/s", lambda r: fmt.number(r.mloops, 3), spare=2),
        ]
    )


def latency_table(rows: Sequence[WorkloadRow]) -> RenderableType:
    """Workloads as the client saw them; latency from the intended send time, in an open loop beside that from the real one."""
    column = _columns_of(rows)
    return Fitting(
        [
            column("workload", lambda r: r.workload, words=True),
            column("loop", lambda r: r.loop, words=True),
            column("answered", lambda r: fmt.rate(r.answered_per_s), width=8),
            column("offered", lambda r: fmt.rate(r.offered_per_s), spare=3, width=8),
            column("p50", lambda r: _time(r.latency.p50), width=6),
            column("p90", lambda r: _time(r.latency.p90), spare=6, width=6),
            column("p99", lambda r: _time(r.latency.p99), width=6),
            column("p99.9", lambda r: _time(r.latency.p999), spare=5, width=6),
            column("max", lambda r: _time(r.latency.maximum), spare=1, width=6),
            column("p99 from send", lambda r: _time(r.latency_sent.p99) if r.loop == "open" else fmt.DASH, spare=2),
            column("pacing p99", lambda r: _time(r.pacing and r.pacing.p99), spare=2),
            column("lost", lambda r: _loss(r.lost)),
            column("late", lambda r: _loss(r.late), spare=4),
            column("unsent", lambda r: fmt.count(r.unsent), spare=2),
            column("duplicates", lambda r: fmt.count(r.duplicates), spare=7),
        ]
    )


def phase_table(rows: Sequence[PhaseRow]) -> RenderableType:
    """Workloads in each phase of their load, over the windows that lie wholly in it, and the share of those that do not."""
    starts = [n for n, row in enumerate(rows) if n == 0 or row.workload != rows[n - 1].workload]
    column = _columns_of(rows)

    def result(head: str, show: Callable[[WorkloadRow], str | Text], **layout: Any) -> Column:
        return column(head, lambda r: show(r.result) if r.result else fmt.DASH, **layout)

    table = Fitting(
        [
            Column("phases of", [row.workload if n in starts else "" for n, row in enumerate(rows)], words=True),
            column("", lambda r: str(r.phase)),
            column("load", lambda r: r.load, words=True),
            column("seconds", lambda r: fmt.number(r.counted_s, 2)),
            column("left out", lambda r: fmt.percent(r.left_out, 0), spare=1),
            result("offered", lambda r: fmt.rate(r.offered_per_s), spare=3),
            result("answered", lambda r: fmt.rate(r.answered_per_s)),
            result("p50", lambda r: _time(r.latency.p50)),
            result("p90", lambda r: _time(r.latency.p90), spare=4),
            result("p99", lambda r: _time(r.latency.p99)),
            result("lost", lambda r: _loss(r.lost)),
            result("late", lambda r: _loss(r.late), spare=5),
            result("unsent", lambda r: fmt.count(r.unsent), spare=2),
        ],
        sections=starts[1:],
    )
    left_out = 1 - sum(row.counted_s for row in rows) / sum(row.measured_s for row in rows)
    words = f"windows that straddle phases are left out: {fmt.percent(max(left_out, 0))} of the time"
    return Group(table, Text(words, style="dim"))


def port_table(rows: Sequence[PortRow]) -> RenderableType:
    """Endpoints' totals, counted at their ports; bits are those of mbufs, without FCS and gaps."""
    column = _columns_of(rows)
    return Fitting(
        [
            column("port of", lambda r: r.endpoint, words=True),
            column("rx Mpps", lambda r: fmt.number(r.rx_mpps, 3)),
            column("tx Mpps", lambda r: fmt.number(r.tx_mpps, 3)),
            column("rx Gbit/s", lambda r: fmt.number(r.rx_gbps, 3), spare=1),
            column("tx Gbit/s", lambda r: fmt.number(r.tx_gbps, 3), spare=1),
            column("rx packets", lambda r: fmt.count(r.rx_packets), spare=3),
            column("tx packets", lambda r: fmt.count(r.tx_packets), spare=3),
            column("rx burst", lambda r: fmt.number(r.rx_burst), spare=2),
            column("tx burst", lambda r: fmt.number(r.tx_burst), spare=2),
        ]
    )


def drops(rows: Sequence[StageRow]) -> RenderableType:
    """Every drop by its name, a line a stage."""
    dropping = [row for row in rows if row.drops]
    if not dropping:
        return Text("drops: none" if any(row.drops is not None for row in rows) else "drops: not told", style="dim")
    grid = Table.grid(padding=(0, 2, 0, 0))
    for position, row in enumerate(dropping):
        names = ", ".join(f"{name} {fmt.count(n)}" for name, n in row.drops.items())
        grid.add_row("" if position else "drops:", f"{row.endpoint} {row.stage}", Text(names, style="red"))
    return grid


def figure_table(figures: Sequence[Figure]) -> RenderableType:
    """What another tool printed beside stages and ports."""
    column = _columns_of(figures)
    return Fitting(
        [
            column("of", lambda f: f.of, words=True),
            column("figure", lambda f: f.name, words=True),
            column("value", lambda f: f"{f.value:,.10g}"),
            column("unit", lambda f: f.unit, words=True),
        ]
    )


def ledger_line(engines: Sequence[EngineRecord]) -> Text:
    """Whether mbufs, packets and messages are all accounted for, or what is missing."""
    missing = missing_of(engines)
    if missing is None:
        return Text("ledger: not drawn up, an engine gave no result", style="red")
    if missing:
        return Text("ledger: not closed: " + ", ".join(missing), style="red")
    return Text("ledger: closed, every mbuf, packet and message accounted for", style="green")


def missing_of(engines: Sequence[EngineRecord]) -> list[str] | None:
    """What the ledgers miss, in words; None where an engine did not live to draw them up."""
    if any(engine.result is None for engine in engines):
        return None
    missing = []
    for engine in engines:
        names = [workload.name for workload in engine.plan.workloads]
        missing += [f"{m.missing:,} mbufs of the {m.endpoint}" for m in engine.result.mbufs if m.missing]
        missing += [f"{p.missing:,} packets from the {p.source}" for p in engine.result.packets if p.missing]
        missing += [f"{m.missing:,} messages of {names[m.workload]}" for m in engine.result.messages if m.missing]
    return missing


def verdict_view(verdict: Verdict, run: Run | None = None) -> RenderableType:
    """Valid, and over how many of the measured windows where it is not over all; or the reasons why the numbers are not shown."""
    if verdict.valid:
        flown, counted = (windows_of(windows) for windows in (run.windows, run.counted)) if run else (0, 0)
        part = f", over {counted} of {flown} windows" if counted < flown else ""
        return Text(f"verdict: valid{part}", style="bold green")
    reasons = Text("\n".join(f"• {reason}" for reason in verdict.reasons))
    return Panel(reasons, title="invalid: no numbers to show", title_align="left", border_style="red", expand=False)


def _not_judged(imported: Imported) -> Text:
    words = f"imported: the figures are {imported.tool}'s own; Windtunnel measured and judged nothing here"
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
    stall = round((row.stall_share or 0) * _BAR_CELLS)
    work = max(round(row.busy_share * _BAR_CELLS) - stall, 0)
    rest = max(_BAR_CELLS - work - stall, 0)
    return Text.assemble(("━" * work, "cyan"), ("━" * stall, "yellow"), ("─" * rest, "bright_black"))


def _time(ns: float | None) -> str:
    return fmt.duration(ns).replace(" ", "")


def _loss(count: int | None) -> Text:
    return Text(fmt.count(count), style="red" if count else "")
