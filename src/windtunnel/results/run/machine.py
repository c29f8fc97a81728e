"""What a run shows of the machine that it used: workers, ports, rings and pools, events of the kernel, NICs, and the other host."""

from collections.abc import Iterator, Sequence

from windtunnel import format as fmt
from windtunnel.part_registry import part_functions
from windtunnel.results.charts.run import throughput
from windtunnel.results.charts.run import workers as worker_chart
from windtunnel.results.document import Block, Chart, Fold, Marked, Section, Sentence, Table, columns_of, groups_of
from windtunnel.results.metric_columns import metric_columns
from windtunnel.results.replicas import grouped, representatives
from windtunnel.runs.counters import EventRow, event_rows
from windtunnel.runs.joined import Crossing, crossings
from windtunnel.runs.reader import Run
from windtunnel.runs.record import EngineRecord, ForeignValue, Imported
from windtunnel.runs.replicas import replicas
from windtunnel.runs.rows import PortRow, WorkerRow
from windtunnel.runs.summary import Summary

OF_REPLICAS = "Of workers that do the same, by the share of their work: the one that is farthest from the median, the median one and the other end."


def worker_section(run: Run, summary: Summary) -> Iterator[Section]:
    """Shares of each worker's time, which add up to 1, and the share in which the kernel preempted it; of many replicas three stand for all."""
    rows = summary.workers
    if not rows:
        return
    group_of = _groups(run)
    groups = grouped(rows, lambda row: group_of.get((row.cpu, frozenset(row.sides.split(" + ")))))
    shown = representatives(groups, lambda row: row.work_share or 0.0)
    about = (
        "The shares of work, stall, idle, interrupted and own traffic add up to all of a worker’s time. Preempted: the kernel ran another "
        "thread on its CPU."
    )
    yield Section(
        "Time of each worker",
        [*([Chart(plot)] if (plot := worker_chart([row for row, _ in shown])) else []), _worker_table(shown)],
        about=about if len(shown) == len(rows) else f"{about} {OF_REPLICAS}",
    )
    if len(shown) < len(rows):
        everyone = Fold(f"All {len(rows)} workers", [_worker_table([(row, "") for row in rows])])
        yield Section("Time of all workers", [everyone], terminal="absent")


def _groups(run: Run) -> dict[tuple[int, frozenset[str]], tuple[str, int]]:
    """CPU and sides of each worker -> engine, and number of its group of replicas."""
    return {
        (worker.cpu, frozenset(plan.endpoints[stage.endpoint].side for stage in worker.stages)): (name, number)
        for name, plan in ((engine.name, engine.plan) for engine in run.record.engines)
        for number, group in enumerate(replicas(plan))
        for worker in (plan.workers[position] for position in group)
    }


def _worker_table(shown: Sequence[tuple[WorkerRow, str]]) -> Table:
    rows = [row for row, _ in shown]
    column = columns_of(shown)
    places = [column("of those that do the same", lambda r: r[1], words=True)] if any(text for _, text in shown) else []
    return Table(
        [
            column("workers", lambda r: r[0].sides, words=True),
            column("CPU", lambda r: str(r[0].cpu)),
            *places,
            *metric_columns("worker", rows).values(),
        ]
    )


def port_section(run: Run, summary: Summary) -> Iterator[Section]:
    """The least limit that parts know is drawn over throughput."""
    if not summary.ports:
        return
    limits = [limit for of_part in part_functions("blocks", "limits") for limit in of_part(run)]
    least = min(limits, key=lambda limit: limit.times, default=None)
    blocks: list[Block] = [Chart(plot)] if (plot := throughput(run, least)) else []
    yield Section(
        "Throughput over time, and ports",
        [*blocks, port_table(summary.ports)],
        about="Bits are those of mbufs: the FCS and the gaps of a link are not in them.",
    )


def port_table(rows: Sequence[PortRow]) -> Table:
    """Endpoints' totals, counted at their ports; bits are those of mbufs, without FCS and gaps."""
    column = columns_of(rows)
    return Table([column("port of", lambda r: r.endpoint, words=True), *metric_columns("port", rows).values()])


def level_section(summary: Summary) -> Iterator[Section]:
    """How full rings were, and how empty pools."""
    rows = summary.levels
    if rows:
        name = columns_of(rows)("level", lambda r: r.name, words=True)
        yield Section(
            "Rings and pools",
            [Table([name, *metric_columns("level", rows).values()])],
            about="Entries in use and free mbufs, as seen at the end of each measured window.",
            terminal="absent",
        )


def event_section(run: Run) -> Iterator[Section]:
    """What the kernel counted for the workers' threads; of what it could not count, why."""
    if rows := event_rows(run):
        yield Section(
            "Counted by the kernel",
            [_event_table(rows)],
            about="For the thread of each worker, over the windows that the metrics use. What it could not count is absent, with the reason.",
        )


def _event_table(rows: Sequence[EventRow]) -> Table:
    column = columns_of(rows)
    return Table(
        [
            column("event", lambda r: r.event, words=True),
            column("CPU", lambda r: str(r.cpu)),
            column("count", lambda r: fmt.number(r.value, 0)),
            column("unit", lambda r: r.unit, words=True),
            column("per message", lambda r: fmt.number(r.a_message, 4)),
            column("", lambda r: r.words or "", words=True),
        ],
        groups_of([row.event for row in rows]),
    )


def value_section(imported: Imported | None) -> Iterator[Section]:
    """Other values that the tool printed."""
    if imported and imported.values:
        yield Section(f"Other values of {imported.tool}", [_value_table(imported.values)])


def _value_table(values: Sequence[ForeignValue]) -> Table:
    column = columns_of(values)
    return Table(
        [
            column("of", lambda f: f.of, words=True),
            column("value of", lambda f: f.name, words=True),
            column("value", lambda f: f"{f.value:,.10g}"),
            column("unit", lambda f: f.unit, words=True),
        ]
    )


def crossing_section(run: Run) -> Iterator[Section]:
    """Packets between two hosts over the whole run, each counted by the host's own port."""
    if rows := crossings(run):
        yield Section(
            "Between the hosts",
            [_crossing_table(rows)],
            about="Packets over the whole run, each counted by the host’s own port; what is lost between the hosts, in NICs, kernels and the wire, "
            "is the difference. The hosts’ clocks are never subtracted: windows go together by their index.",
        )


def _crossing_table(rows: Sequence[Crossing]) -> Table:
    column = columns_of(rows)
    return Table(
        [
            column("packets from", lambda r: r.source, words=True),
            column("sent", lambda r: fmt.count(r.sent)),
            column("received", lambda r: fmt.count(r.received)),
            column("lost between hosts", lambda r: Marked(fmt.count(r.lost), "loss" if r.lost else "plain")),
            column("other frames", lambda r: fmt.count(r.foreign), spare=1),
        ]
    )


def nic_sections(engines: Sequence[EngineRecord]) -> Iterator[Section]:
    """Counters of the drivers, under their own names."""
    for engine in engines:
        for side, counted in ((engine.result.xstats if engine.result else None) or {}).items():
            column = columns_of(list(counted.items()))
            table = Table([column("counter", lambda c: c[0], words=True), column("count", lambda c: fmt.count(c[1]))])
            yield Section(
                f"Counters of the {side}’s NIC",
                [table if counted else Sentence("none")],
                about="Of the driver, over the whole run, under the driver’s names. Zero counters are not shown.",
                terminal="absent",
            )
