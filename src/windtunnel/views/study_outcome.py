"""Output of `study`: before it runs, with --plan, and at its end."""

from collections import Counter
from json import dumps
from pathlib import Path
from typing import Any

from rich.text import Text

from windtunnel.errors import UserError, as_argument
from windtunnel.format import DASH, percent
from windtunnel.measure.study.design import Design
from windtunnel.measure.study.findings import Sample, samples, workloads
from windtunnel.measure.study.forecast import Forecast
from windtunnel.measure.study.study import Prepared, Study
from windtunnel.views import study_metrics
from windtunnel.views.study_sentences import all_sentences, state_words
from windtunnel.views.terminal.columns import Column, Fitting
from windtunnel.views.terminal.console import progress, results
from windtunnel.views.terminal.messages import show_error
from windtunnel.views.terminal.study_progress import in_words

DOCUMENT_VERSION = 1
MOST_ROWS = 60


def write_report(study: Study) -> Path | None:
    """Where the report is; None where nothing has run, or where it could not be written, which is said on stderr."""
    from windtunnel.views.pages.study_page import write

    if not study.rows:
        return None
    try:
        return write(study)
    except UserError as error:
        show_error(error)
        return None


def print_plan(prepared: Prepared, json: bool) -> None:
    design, forecast = prepared.design, Forecast(prepared.design, prepared.at_once)
    if json:
        print(dumps(_plan_document(design, forecast), indent=1, ensure_ascii=False))
        return
    console, definition = results(), design.definition
    console.print(Text(definition.title, style="bold"))
    if definition.question:
        console.print(Text(definition.question))
    running = len(design.running)
    console.print(
        f"{running} of {len(design.points)} points run here, {definition.repeats} times each: {forecast.runs} runs, "
        f"about {in_words(forecast.left_s)}",
        soft_wrap=True,
    )
    console.print()
    shown = design.points[:MOST_ROWS]
    columns = [Column("point", [str(point.number) for point in shown])]
    for n, factor in enumerate(design.factors):
        columns.append(Column(factor.name, [point.levels[n].label for point in shown]))
    columns.append(Column("here", [_here(point.cannot_run) for point in shown], words=True))
    console.print(Fitting(columns))
    if len(shown) < len(design.points):
        console.print(f"and {len(design.points) - len(shown)} more; --json has them all", style="dim")


def _here(cannot_run: str | None) -> Text:
    return Text("runs", style="green") if cannot_run is None else Text(f"cannot run here: {cannot_run}", style="yellow")


def _plan_document(design: Design, forecast: Forecast) -> dict[str, Any]:
    definition = design.definition
    return {
        "version": DOCUMENT_VERSION,
        "title": definition.title,
        "question": definition.question,
        "repeats": definition.repeats,
        "runs": forecast.runs,
        "seconds": round(forecast.left_s, 3),
        "points": [
            {
                "number": point.number,
                "name": point.name,
                "factors": design.cells(point),
                "sets": list(point.sets),
                "cannot_run": point.cannot_run,
            }
            for point in design.points
        ],
    }


def print_json(study: Study, page: Path | None) -> None:
    record = study.record
    document = {
        "version": DOCUMENT_VERSION,
        "path": str(study.path),
        "title": record.title,
        "question": record.question,
        "finished": not study.interrupted,
        "runs": study.due,
        "run": study.finished,
        "invalid": study.invalid,
        "included": study.included,
        "relaxed": study.relaxed,
        "cannot_run": {p.name: p.cannot_run for p in record.points if p.cannot_run is not None},
        "host_state": None if record.spread else study.blocked.state,
        "repeated_for_state": study.repeated,
        "missed_state": study.missed,
        "findings": all_sentences(study),
        "results": str(study.results) if study.rows else None,
        "report": str(page) if page else None,
    }
    print(dumps(document, indent=1, ensure_ascii=False))


def print_tables(study: Study, page: Path | None) -> None:
    """Every point with its metrics, the findings, and the paths of the files."""
    console, record = results(), study.record
    console.print(Text(record.title, style="bold"))
    if record.question:
        console.print(Text(record.question))
    for testbed, part in study.parts.items():
        for workload in workloads(part.rows):
            console.print()
            if testbed:
                console.print(f"testbed {testbed}")
            console.print(_points(part, workload))
    for sentence in all_sentences(study):
        console.print()
        console.print(sentence)
    console.print()
    if unrunnable := [point for point in record.points if point.cannot_run is not None]:
        console.print(
            f"{len(unrunnable)} of {len(record.points)} points cannot run here: {unrunnable[0].cannot_run}",
            style="yellow",
        )
    if study.invalid:
        console.print(f"{study.invalid} of {study.finished} runs are invalid{_included(study)}", style="red")
        console.print(f"most often: {_reason(study)}", style="red", soft_wrap=True)
        if not study.interrupted:
            console.print(_WHAT_NOW + ("" if study.included else _REJECTED), soft_wrap=True)
    if study.relaxed:
        console.print(f"valid, limits relaxed: {', '.join(study.relaxed)}", style="yellow")
    if said := state_words(study):
        console.print(said, style="yellow" if study.missed else "", soft_wrap=True)
    for what, path in (("study", study.path), ("table", study.results if study.rows else None), ("report", page)):
        if path:
            console.print(Text.assemble((f"{what:<7}", "dim"), str(path)), soft_wrap=True)


_WHAT_NOW = (
    "They were repeated as often as `retries` allows, and the same command runs nothing more. "
    "--out NEW runs the study again."
)
_REJECTED = " --include-invalid takes in what they measured."


def _reason(study: Study) -> str:
    """With which most of the invalid runs begin. Figures in it differ from run to run, so the code decides, and the first one is shown."""
    reasons: list[str] = [row["reasons"][0] for row in study.rows if not row["valid"]]
    ((code, _),) = Counter(reason.partition(":")[0] for reason in reasons).most_common(1)
    return next(reason for reason in reasons if reason.startswith(code))


def _included(study: Study) -> str:
    if not study.included:
        return " and excluded"
    rest = study.invalid - study.included
    return f"; {study.included} included (--include-invalid)" + (f", {rest} without metrics" if rest else "")


def say_how_to_go_on(study: Study) -> None:
    """On stderr, so that stdout stays machine-readable."""
    left = study.due - study.finished
    progress().print(
        f"stopped: {left} of {study.due} runs are left; continue with: windtunnel study {as_argument(study.path)}",
        soft_wrap=True,
    )


def _points(study: Study, workload: str | None) -> Fitting:
    """One row for each point that has run: medians and the spread of its runs."""
    record = study.record
    names = study_metrics.chosen(record.metrics, study.rows)
    found = {name: {s.point: s for s in samples(study.blocked.rows, name, workload)} for name in names}
    finished = sorted({row["point"] for row in study.rows})[:MOST_ROWS]
    columns = [Column("workload", [workload] * len(finished), words=True)] if workload else []
    for factor in record.factors:
        labels = {level.cell: level.label for level in factor.levels}
        columns.append(Column(factor.name, [labels[record.point(n).cells[factor.name]] for n in finished]))
    counted = found[names[0]]
    columns.append(Column("runs", [str(len(counted[n].values)) if n in counted else "0" for n in finished]))
    for spare, name in enumerate(names):
        columns.append(Column(name, [_median(name, found[name].get(n)) for n in finished], spare=2 * spare))
        columns.append(Column("spread", [_spread(found[name].get(n)) for n in finished], spare=2 * spare + 1))
    return Fitting(columns)


def _median(name: str, sample: Sample | None) -> str:
    return DASH if sample is None else study_metrics.text(name, sample.median)


def _spread(sample: Sample | None) -> str:
    return DASH if sample is None else percent(study_metrics.spread(sample.values, sample.median))
