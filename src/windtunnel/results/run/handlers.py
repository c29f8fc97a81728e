"""What a run shows of its handlers: their steps and what they counted."""

from collections.abc import Iterator, Sequence

from windtunnel import format as fmt
from windtunnel.results.charts.steps import steps as step_chart
from windtunnel.results.document import Chart, Column, Marked, Section, Table, columns_of, first_of_group, groups_of
from windtunnel.results.metric_columns import metric_columns
from windtunnel.runs.rows import HandlerCounterRow, StepRow
from windtunnel.runs.summary import Summary


def handler_sections(summary: Summary) -> Iterator[Section]:
    """Of handlers that name steps, or that count."""
    if summary.steps:
        apart = " A step that makes the handler’s own traffic is separate: it is in no work, no share and no bar."
        yield Section(
            "Steps of the handlers",
            [*([Chart(plot)] if (plot := step_chart(summary.steps)) else []), step_table(summary.steps)],
            about="What a packet of the stage costs in each step of its handler, in timed calls. The steps add up to the handler’s part of the "
            "stage’s work, and those of a copier to its part. The clock is read once per burst for each step: the last column is the part "
            f"that this took, and it is in the others.{apart if any(row.traffic for row in summary.steps) else ''}",
        )
    if summary.counters:
        yield Section(
            "Counters of the handlers",
            [counter_table(summary.counters)],
            about="Counts over the measured windows; states at the end of the last one.",
        )


def step_table(rows: Sequence[StepRow]) -> Table:
    """Steps by stage: ns per packet of the stage, which add up, and ns per packet that went through the step."""
    places = [f"{row.endpoint} {row.stage}" for row in rows]
    column = columns_of(rows)
    metrics = metric_columns("step", rows)
    metrics["share"] = column("share", lambda r: "separate" if r.traffic else fmt.percent(r.share))
    step = column("step", lambda r: Marked(r.label, "quiet" if r.traffic else "plain"), words=True)
    return Table([Column("steps of", first_of_group(places), words=True), step, *metrics.values()], groups_of(places))


def counter_table(rows: Sequence[HandlerCounterRow]) -> Table:
    """By table or handler."""
    owners = [row.of or f"{row.endpoint} {row.stage}" for row in rows]
    column = columns_of(rows)
    return Table(
        [
            Column("counters", first_of_group(owners), words=True),
            column("", lambda r: r.name, words=True),
            column("value", lambda r: Marked(fmt.count(r.value), "loss" if r.kind == "wrong" and r.value else "plain")),
            column("unit", lambda r: r.unit, words=True),
            column("per second", lambda r: fmt.rate(r.per_s), spare=1),
        ],
        groups_of(owners),
    )
