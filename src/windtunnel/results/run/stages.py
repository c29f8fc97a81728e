"""What a run shows of its stages: where the time of a packet goes, bursts, batches and drops."""

from collections.abc import Iterator, Sequence

from windtunnel import format as fmt
from windtunnel.engine.drops import DROPS
from windtunnel.results.charts.bursts import bursts
from windtunnel.results.charts.run import cost
from windtunnel.results.document import (
    Bar,
    Block,
    Chart,
    Column,
    Marked,
    Section,
    Sentence,
    Table,
    Tone,
    columns_of,
    first_of_group,
    groups_of,
)
from windtunnel.results.metric_columns import metric_columns
from windtunnel.runs.rows import Spread, StageRow
from windtunnel.runs.summary import Summary


def stage_sections(summary: Summary, accounting: str | None) -> Iterator[Section]:
    """What a packet costs in each stage. `accounting`: None for runs of other tools."""
    if not summary.stages:
        if accounting:
            words = "accounting was off: stages counted nothing. The ledger has the drops of the whole run"
            yield Section("Where the time goes", [Sentence(words, tone="quiet")])
        return
    blocks: list[Block] = [Chart(plot)] if (plot := cost(summary.stages)) else []
    if not blocks and accounting:
        words = f"Accounting at {accounting} measures no cycles. The levels sampled, cycles and histograms do."
        blocks.append(Sentence(words, detail=True))
    blocks += [stage_table(summary.stages), *drop_lines(summary.stages)]
    blocks += [Sentence(text, tone="quiet") for text in summary.object_notes()]
    over = f" They are over {fmt.number(summary.measured_s)} s that were measured." if summary.measured_s else ""
    yield Section(
        "Where the time goes",
        blocks,
        about="Times are ns per packet: work, and the wait for an mbuf, for room in a ring or for the port. Shares are of the time of the "
        f"workers that run the stage.{over}",
    )


def stage_details(summary: Summary) -> Iterator[Section]:
    """Distributions of bursts and batches."""
    if plot := bursts(summary.stages):
        yield Section(
            "Bursts",
            [Chart(plot)],
            about="Share of a stage’s calls by the number of objects that they took, without empty calls.",
        )
    if batches := [row for row in summary.stages if row.completion]:
        yield Section(
            "Batches",
            [_batch_table(batches)],
            about="Duration of a batch, stall included, and the stall in it; percentiles within 6.25%.",
            terminal="absent",
        )


def stage_table(rows: Sequence[StageRow]) -> Table:
    """Stages by endpoint; times are ns per packet, busy and idle are shares of the time of the workers that run the stage."""
    endpoints = [row.endpoint for row in rows]
    metrics = metric_columns("stage", rows)
    columns = []
    for name, column in metrics.items():
        columns.append(column)
        if name == "mean_burst":
            columns.append(Column("", [_bar(row) for row in rows], spare=4))
    return Table([Column("", first_of_group(endpoints), words=True), _names(rows), *columns], groups_of(endpoints))


def drop_lines(rows: Sequence[StageRow]) -> list[Sentence]:
    """Every drop by its reason, a line for each stage."""
    dropping = [row for row in rows if row.drops]
    if not dropping:
        known = any(row.drops is not None for row in rows)
        return [Sentence("drops: none" if known else "drops: not reported", tone="quiet")]
    return [
        Sentence(
            f"drops: {row.endpoint} {row.stage} ",
            Marked(", ".join(f"{name} {fmt.count(n)}" for name, n in (row.drops or {}).items()), "loss"),
        )
        for row in dropping
    ]


def drop_section(summary: Summary) -> Iterator[Section]:
    """Each drop with its stage, its name, its packets, and why; a name of another release is not explained."""
    every = [(row, name, count) for row in summary.stages for name, count in (row.drops or {}).items()]
    if not every:
        return
    column = columns_of(every)
    yield Section(
        "Drops",
        [
            Table(
                [
                    column("endpoint", lambda d: d[0].endpoint, words=True),
                    column("stage", lambda d: _name(d[0]), words=True),
                    column("reason", lambda d: d[1], words=True),
                    column("packets", lambda d: fmt.count(d[2])),
                    column("cause, and what to do", lambda d: _why(d[1]), words=True),
                ]
            )
        ],
        terminal="absent",
    )


def _why(name: str) -> str:
    return DROPS[name].words.replace("`", "") if name in DROPS else fmt.DASH


def _batch_table(rows: Sequence[StageRow]) -> Table:
    columns = [Column("endpoint", [row.endpoint for row in rows], words=True), _names(rows)]
    kinds = (("completion", [row.completion for row in rows]), ("stall", [row.stall for row in rows]))
    parts = (("min", "minimum"), ("mean", "mean"), ("p50", "p50"), ("p99", "p99"), ("max", "maximum"))
    for kind, spreads in kinds:
        for head, field in parts:
            name = f"{kind} {head}" if head == "min" else head
            columns.append(Column(name, [_spread(spread, field) for spread in spreads]))
    return Table(columns, groups_of([row.endpoint for row in rows]))


def _spread(spread: Spread | None, field: str) -> str:
    return fmt.DASH if spread is None else fmt.duration(getattr(spread, field))


def _names(rows: Sequence[StageRow]) -> Column:
    return Column("stage", [_name(row) for row in rows], words=True)


def _name(row: StageRow) -> str:
    return row.stage if row.instances in (None, 1) else f"{row.stage} ×{row.instances}"


def _bar(row: StageRow) -> str | Bar:
    """Work and stall as parts of the workers' time."""
    if row.busy_share is None:
        return ""
    stall = row.stall_share or 0.0
    shares: tuple[tuple[float, Tone], ...] = ((max(row.busy_share - stall, 0.0), "subject"), (stall, "waits"))
    return Bar(shares)
