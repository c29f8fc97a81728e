"""A run in the terminal: the tables that `run` ends with and `show` prints."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from windtunnel.runs import format as fmt
from windtunnel.runs.reader import Run
from windtunnel.runs.record import EngineRecord, Record, Verdict
from windtunnel.runs.rows import LevelRow, PortRow, StageRow, WorkloadRow
from windtunnel.runs.summary import summarise

_BAR_CELLS = 8


def run_view(run: Run) -> RenderableType:
    """Everything of one run. An invalid run shows its reasons in the place of its numbers."""
    parts: list[RenderableType] = [header(run.record)]
    if run.record.verdict.valid:
        summary = summarise(run)
        parts += [stage_table(summary.stages), Text(), drops_line(summary.stages), Text()] if summary.stages else []
        parts += [latency_table(summary.workloads), Text()] if summary.workloads else []
        parts += [port_table(summary.ports), Text(), ledger_line(run.record.engines)]
    parts.append(verdict_panel(run.record.verdict))
    parts += [Text(f"warning: {problem}", style="yellow") for problem in run.problems]
    return Group(*parts)


def header(record: Record) -> RenderableType:
    """Title and question, how it flew, what was emulated and what to know."""
    lines = [Text(record.title, style="bold")]
    lines += [Text(record.question, style="italic")] if record.question else []
    how = f"wire {record.wire} · memory {record.memory} · accounting {record.accounting}"
    lines.append(Text(how, style="dim"))
    lines += [Text(mark, style="bold magenta") for mark in record.emulated]
    lines += [Text(f"note: {note}", style="dim") for note in record.all_notes()]
    return Group(*lines, Text())


def stage_table(rows: Sequence[StageRow], title: str | None = None) -> Table:
    """Stages by endpoint; times are ns a packet, the share is of the time of the workers that run the stage."""
    table = plain_table(title)
    _columns(table, left=("", "stage"), right=("Mpps", "work ns", "stall ns", "burst"))
    _columns(table, left=("share of time",), right=("idle", "drops"))
    previous = None
    for row in rows:
        if previous not in (None, row.endpoint):
            table.add_row()
        table.add_row(
            row.endpoint if row.endpoint != previous else "",
            row.stage if row.instances == 1 else f"{row.stage} ×{row.instances}",
            fmt.number(row.mpps, 3),
            fmt.number(row.work_ns),
            Text(fmt.number(row.stall_ns), style="yellow" if row.stall_ns else ""),
            fmt.number(row.mean_burst),
            _share(row),
            fmt.percent(row.idle_share),
            _loss(sum(row.drops.values())),
        )
        previous = row.endpoint
    return table


def latency_table(rows: Sequence[WorkloadRow], title: str | None = None) -> Table:
    """Workloads as the client saw them; latency from the intended send time."""
    table = plain_table(title)
    _columns(table, ("workload",), ("answered", "offered", "p50", "p90", "p99", "p99.9", "max", "lost", "late"))
    for row in rows:
        times = row.latency
        table.add_row(
            Text(row.workload),
            fmt.rate(row.answered_per_s),
            fmt.rate(row.offered_per_s),
            *(fmt.duration(t).replace(" ", "") for t in (times.p50, times.p90, times.p99, times.p999, times.maximum)),
            _loss(row.lost),
            _loss(row.late),
        )
    return table


def port_table(rows: Sequence[PortRow], title: str | None = None) -> Table:
    """Endpoints' totals, counted at their ports; bits are those of mbufs, without FCS and gaps."""
    table = plain_table(title)
    _columns(table, ("port of",), ("rx Mpps", "tx Mpps", "rx Gbit/s", "tx Gbit/s", "rx burst", "tx burst"))
    for row in rows:
        table.add_row(
            row.endpoint,
            *(fmt.number(v, 3) for v in (row.rx_mpps, row.tx_mpps, row.rx_gbps, row.tx_gbps)),
            *(fmt.number(v) for v in (row.rx_burst, row.tx_burst)),
        )
    return table


def level_table(rows: Sequence[LevelRow], title: str | None = None) -> Table:
    """How full rings and how empty pools got, as seen at the ends of windows."""
    table = plain_table(title)
    _columns(table, ("level",), ("lowest", "highest", "size"))
    for row in rows:
        table.add_row(Text(row.name), *(fmt.count(v) for v in (row.lowest, row.highest, row.size)))
    return table


def drops_line(rows: Sequence[StageRow]) -> Text:
    """Every drop by its name."""
    drops = [f"{r.endpoint} {r.stage} {name} {fmt.count(n)}" for r in rows for name, n in r.drops.items()]
    return Text("drops: " + (", ".join(drops) or "none"), style="red" if drops else "dim")


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


def verdict_panel(verdict: Verdict) -> Panel:
    """Valid, or the reasons why the numbers are not shown."""
    if verdict.valid:
        return Panel(Text("valid"), border_style="green", expand=False)
    reasons = Text("\n".join(f"• {reason}" for reason in verdict.reasons))
    return Panel(reasons, title="invalid: no numbers to show", title_align="left", border_style="red", expand=False)


def plain_table(title: str | None = None) -> Table:
    """A table of figures that fits 80 columns: one rule below the heads and no more."""
    return Table(
        title=title,
        title_justify="left",
        box=SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
        header_style="bold",
        border_style="dim",
    )


def _columns(table: Table, left: Sequence[str], right: Sequence[str]) -> None:
    """Columns of words, then columns of figures; nothing is wrapped, so that a figure is never read in two halves."""
    for name in left:
        table.add_column(name, no_wrap=True)
    for name in right:
        table.add_column(name, justify="right", no_wrap=True)


def _share(row: StageRow) -> Text:
    """A bar of work and stall, and the share in figures."""
    if row.busy_share is None:
        return Text(fmt.DASH)
    stall = round((row.stall_share or 0) * _BAR_CELLS)
    work = max(round(row.busy_share * _BAR_CELLS) - stall, 0)
    rest = max(_BAR_CELLS - work - stall, 0)
    bar = Text.assemble(("━" * work, "cyan"), ("━" * stall, "yellow"), ("─" * rest, "bright_black"))
    return bar.append(f" {fmt.percent(row.busy_share):>6}")


def _loss(count: int) -> Text:
    return Text(fmt.count(count), style="red" if count else "")
