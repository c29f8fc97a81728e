"""A study as a document: before it runs, its points; at its end findings, plots, and the metrics of every point."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from windtunnel.format import DASH, percent
from windtunnel.host import resctrl
from windtunnel.measure.study.columns import event_columns, has_metrics
from windtunnel.measure.study.findings import Sample, rows_of_workload, samples, workloads
from windtunnel.measure.study.forecast import Forecast
from windtunnel.measure.study.record import PointRecord, StudyRecord
from windtunnel.measure.study.study import Prepared, Study
from windtunnel.part_registry import part_functions
from windtunnel.results import study_metrics
from windtunnel.results.charts import references, study_latency
from windtunnel.results.charts.layout import label_text
from windtunnel.results.charts.marks import Mark, marks_of
from windtunnel.results.charts.study import Drawn, beside, plots
from windtunnel.results.document import (
    Block,
    Cell,
    Chart,
    Column,
    Document,
    Fold,
    Listing,
    Marked,
    Panel,
    Section,
    Sentence,
    Table,
    columns_of,
)
from windtunnel.results.host import host_section
from windtunnel.results.page.files import REPORT, write_page
from windtunnel.results.progress.study_progress import in_words
from windtunnel.results.study_sentences import (
    event_notes,
    findings,
    invalid_sentence,
    left_out_sentence,
    not_counted,
    point_name,
    state_sentence,
)

MOST_ROWS = 60
"""Points of a table that is shown at once."""
_METHOD = (
    "The findings are for the first metric. Points are compared by the logarithm of the metric, with the pooled variance of all points, corrected "
    "for the number of points (Tukey-Kramer). Every repeat runs all points in a random order, so that drift of the host affects all points alike."
)


def write_report(study: Study) -> Path:
    """Writes report.html into the study's directory and returns its path. Raises UserError if it cannot be written."""
    return write_page(study_document(study), study.path / REPORT)


def study_document(study: Study, files: Sequence[tuple[str, str]] = (), charts: bool = True) -> Document:
    """The whole study. `charts`: with its plots, which only pages show, and of which those of latencies read every run."""
    record = study.record
    sentences = [Sentence(finding) for finding in findings(study)]
    return Document(
        kind="study",
        title=record.title,
        question=record.question or None,
        at=record.started,
        how=_how(study),
        notes=list(_notes(study)),
        warnings=list(_warnings(study)),
        blocks=[
            Sentence(_METHOD, detail=True),
            *(_pictures(study) if charts else ()),
            *(section for sections in part_functions("study_blocks", "sections") for section in sections(study)),
            *_points(study),
            *_invalid(study),
            *_unrunnable(record),
            _host(record),
        ],
        verdict=Panel("findings", sentences) if sentences else None,
        files=files,
        made_from="Made from study.json and results.parquet beside this file; runs/ holds every run. The documentation has the columns on the page "
        "“Study keys and columns”, and metrics with their errors on the page “Metrics and validity”.",
    )


def plan_document(prepared: Prepared) -> Document:
    """What `study --plan` shows: the points, whether they can run here, and the time that they take."""
    design, forecast = prepared.design, Forecast(prepared.design, prepared.at_once)
    definition, shown = design.definition, design.points[:MOST_ROWS]
    column = columns_of(shown)
    left = len(design.points) - len(shown)
    levels = (len(factor.levels.members) for factor in design.factors)
    left_out = left_out_sentence(levels, len(design.points), definition.constraints)
    factors = [Column(factor.name, [p.levels[n].label for p in shown]) for n, factor in enumerate(design.factors)]
    return Document(
        kind="study plan",
        title=definition.title,
        question=definition.question or None,
        blocks=[
            Table(
                [
                    column("point", lambda point: str(point.number)),
                    *factors,
                    column("here", lambda point: _here(point.cannot_run), words=True),
                ]
            ),
            *([Sentence(left_out, tone="quiet")] if left_out else []),
            *([Sentence(f"and {left} more; --json has them all", tone="quiet")] if left else []),
        ],
        verdict=Sentence(
            f"{len(design.running)} of {len(design.points)} points run here, {definition.repeats} times each: {forecast.runs} runs, "
            f"about {in_words(forecast.left_s)}"
        ),
    )


def _here(cannot_run: str | None) -> Cell:
    return Marked("runs", "good") if cannot_run is None else Marked(f"cannot run here: {cannot_run}", "warning")


def _how(study: Study) -> list[str]:
    record = study.record
    running = [point for point in record.points if point.cannot_run is None]
    return [
        f"{study.finished - study.invalid} of {study.due} runs valid",
        f"{len(running)} points, {record.repeats} repeats",
        *dict.fromkeys(f"memory {point.memory}" for point in running),
    ]


def _notes(study: Study) -> Iterator[str]:
    record = study.record
    if (sentence := state_sentence(study)) and not study.missed:
        yield sentence
    for sentences in part_functions("study_blocks", "sentences"):
        yield from sentences(record)
    yield from (f"only {level} was run" for level in _constant(study))
    yield from not_counted(study)
    if left_out := left_out_sentence((len(f.levels) for f in record.factors), len(record.points), record.constraints):
        yield left_out
    if unrunnable := _cannot_run(record):
        yield f"{len(unrunnable)} of {len(record.points)} points cannot run here: {unrunnable[0].cannot_run}"


def _warnings(study: Study) -> Iterator[str]:
    if study.missed:
        yield state_sentence(study)
    if study.invalid:
        yield invalid_sentence(study)
    if study.relaxed:
        yield f"limits relaxed: {', '.join(study.relaxed)}"
    if study.due > study.finished:
        yield f"{study.due - study.finished} runs are missing: the study has not ended"


def _constant(study: Study) -> Iterator[str]:
    """The factors of which only one level has run, each with it: no plot shows them."""
    points = {row["point"] for row in study.rows}
    for factor in study.record.factors:
        cells = {study.record.point(number).cells[factor.name] for number in points}
        if len(cells) == 1:
            yield f"{factor.name} {next(level.label for level in factor.levels if level.cell in cells)}"


def _pictures(study: Study) -> Iterator[Section]:
    """The plots of each metric of each workload, and those of latency that the study file asks for; of a spread study on each testbed."""
    for testbed, part in study.parts.items():
        marks = marks_of(part)
        for workload in workloads(part.rows):
            for metric in study_metrics.chosen(study.record.metrics, part.rows):
                yield _picture(part, metric, workload, testbed, marks)
        yield from _counted(part, testbed)
        yield from _latency(part, testbed, marks)


def _picture(study: Study, metric: str, workload: str | None, testbed: str | None, marks: Sequence[Mark]) -> Section:
    """The plots of one metric, with their caption."""
    shown = samples(rows_of_workload(study.blocked.rows, workload), metric, workload)
    own = [mark for mark in marks if mark.over or metric in mark.metrics]
    drawn = plots(Drawn(study.record, metric, shown, own)) if shown else []
    title = f"{metric} of {workload}" if workload else metric
    names = {shape["name"] for plot in drawn for shape in plot["layout"].get("shapes", ())}
    sources = [m.source if label_text(m.name) in names else f"{m.source}; it is outside the plot" for m in own]
    caption = Sentence(f"{'; '.join([*_caption(study, metric, workload, shown), *sources])}.", detail=True)
    return Section(_on_testbed(title, testbed), [*map(Chart, drawn), caption])


def _counted(study: Study, testbed: str | None) -> Iterator[Section]:
    """What the kernel counted of each event that the study names, beside the first metric; of one that it could not count, why."""
    metric = study_metrics.chosen(study.record.metrics, study.rows)[0]
    rows = study.blocked.rows
    for workload in workloads(study.rows):
        drawn = Drawn(study.record, metric, samples(rows, metric, workload))
        for column, event in event_columns(study.record.counters).items():
            counted = Drawn(study.record, column, samples(rows, column, workload))
            if not counted.samples:
                continue
            one = beside(drawn, counted)
            title = f"{event} beside {metric}{f' of {workload}' if workload else ''}"
            yield Section(
                _on_testbed(title, testbed),
                [
                    *map(Chart, [one] if one else plots(counted)),
                    Sentence(_counted_caption(study, event, one is not None), detail=True),
                ],
            )


def _counted_caption(study: Study, event: str, is_beside: bool) -> str:
    of = (
        "bytes, all workers together"
        if event in resctrl.EVENTS and resctrl.EVENTS[event].level
        else "a message, or a packet if no client counts"
    )
    where = f"{event} is thin, with open marks, on the axis at the right: {of}" if is_beside else f"{event}: {of}"
    return "; ".join([f"{where}; medians of a point’s runs", *event_notes(study.rows, event)]) + "."


def _caption(study: Study, metric: str, workload: str | None, shown: Sequence[Sample]) -> Iterator[str]:
    rows, runs = rows_of_workload(study.blocked.rows, workload), sum(len(sample.values) for sample in shown)
    yield f"n = {runs} runs of {len(shown)} points; lines and cells are medians of a point’s runs"
    spreads = [s for sample in shown if (s := study_metrics.spread(sample.values, sample.median)) is not None]
    if spreads:
        middle = percent(sorted(spreads)[len(spreads) // 2])
        yield f"runs of one point lie {middle} of the median apart (median over points), {percent(max(spreads))} at most"
    else:
        yield "one run per point: the spread is not known"
    excluded = sum(not has_metrics(row) for row in rows)
    yield f"invalid runs excluded: {excluded}"
    if included := sum(not row["valid"] and has_metrics(row) for row in rows):
        yield f"invalid runs included: {included}"
    if study.record.reference and metric.endswith("mpps"):
        yield references.WORDS[study.record.reference]
    if missing := len(rows) - excluded - runs:
        yield f"runs without this metric: {missing}"


def _latency(study: Study, testbed: str | None, marks: Sequence[Mark]) -> Iterator[Section]:
    """The plots of latency, of all valid runs of a point together."""
    latencies = study_latency.histograms(study) if study.record.latency else {}
    for name in study.record.latency:
        match name:
            case "boxes":
                title, plot = "Latency", study_latency.boxes(study, latencies)
                caption = study_latency.caption(study, latencies) if latencies else ""
            case "percentiles":
                title, plot = "Latency by percentile", study_latency.percentile_curves(study, latencies, marks)
                sources = "".join(f" {mark.source}." for mark in marks if "p50" in mark.metrics)
                caption = f"All valid runs of a point together. Rarer responses are further right.{sources}"
        if plot:
            yield Section(_on_testbed(title, testbed), [Chart(plot, caption)])


def _points(study: Study) -> Iterator[Section]:
    """Every point that has run, with its metrics; those that a terminal shows at once, and on a page all."""
    points = sorted({row["point"] for row in study.rows})
    for testbed, part in study.parts.items():
        of_part = [point for point in points if any(row["point"] == point for row in part.rows)]
        for workload in workloads(part.rows):
            blocks: list[Block] = [_point_table(part, workload, of_part[:MOST_ROWS])]
            if len(of_part) > MOST_ROWS:
                rest = f"the first {MOST_ROWS} of {len(of_part)} points; the report and `study query` have all"
                every = Fold(f"All {len(of_part)} points", [_point_table(part, workload, of_part)])
                blocks += [Sentence(rest, tone="quiet"), every]
            yield Section(
                _on_testbed(f"Points of {workload}" if workload else "Points", testbed),
                blocks,
                about=f"Medians of a point’s runs, {'rejected ones included' if study.included else 'all of them valid'}; spread: distance between the "
                "smallest and the largest run, relative to the median.",
                terminal="titled" if testbed else "untitled",
            )


def _point_table(study: Study, workload: str | None, points: Sequence[int]) -> Table:
    """A row for each point: medians and the spread of its runs. One whose runs all missed the state of the host has dashes."""
    record, rows = study.record, study.blocked.rows
    column = columns_of(points)
    runs = Counter(row["point"] for row in rows_of_workload(rows, workload) if has_metrics(row))
    columns = [column("workload", lambda _: workload or "", words=True)] if workload else []
    for factor in record.factors:
        labels = {level.cell: level.label for level in factor.levels}
        columns.append(Column(factor.name, [labels[record.point(point).cells[factor.name]] for point in points]))
    columns.append(column("runs", lambda point: str(runs[point])))
    for spare, name in enumerate(study_metrics.chosen(record.metrics, study.rows)):
        of_point = {sample.point: sample for sample in samples(rows, name, workload)}
        medians = [_median(name, of_point.get(point)) for point in points]
        spreads = [_spread(of_point.get(point)) for point in points]
        columns += [Column(name, medians, 2 * spare), Column("spread", spreads, 2 * spare + 1)]
    return Table(columns)


def _median(name: str, sample: Sample | None) -> str:
    return DASH if sample is None else study_metrics.text(name, sample.median)


def _spread(sample: Sample | None) -> str:
    return DASH if sample is None else percent(study_metrics.spread(sample.values, sample.median))


def _invalid(study: Study) -> Iterator[Section]:
    """Every run that stayed invalid: its directory and the reasons."""
    reasons = {row["directory"]: "; ".join(row["reasons"]) for row in study.rows if not row["valid"]}
    if reasons:
        table = Table([Column("run", list(reasons), words=True), Column("reasons", list(reasons.values()), words=True)])
        excluded = f"{study.included} of them included" if study.included else "excluded"
        yield Section(f"Invalid runs, {excluded} above", [table], terminal="absent")


def _unrunnable(record: StudyRecord) -> Iterator[Section]:
    if points := _cannot_run(record):
        column = columns_of(points)
        table = Table(
            [
                column("point", lambda point: point_name(record, point.number), words=True),
                column("reason", lambda point: point.cannot_run or "", words=True),
            ]
        )
        yield Section("Points that cannot run here", [table], terminal="absent")


def _cannot_run(record: StudyRecord) -> list[PointRecord]:
    return [point for point in record.points if point.cannot_run is not None]


def _host(record: StudyRecord) -> Section:
    texts = [Fold("The study", [Listing(record.study.text)]), Fold("The scenario", [Listing(record.scenario.text)])]
    if record.sets:
        texts.append(Fold("Changed on the command line", [Listing("\n".join(record.sets))]))
    return host_section(record.host, record.versions, folds=texts)


def _on_testbed(title: str, testbed: str | None) -> str:
    """A spread study has everything once for each testbed."""
    return f"{title} on {testbed}" if testbed else title
