"""The report of a study: its question, plots and findings, in one HTML file that needs no network."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.format import percent
from windtunnel.measure.study.columns import has_metrics
from windtunnel.measure.study.findings import of_workload, samples, workloads
from windtunnel.measure.study.record import StudyRecord
from windtunnel.measure.study.study import Study
from windtunnel.runs.files import replace
from windtunnel.views import study_metrics
from windtunnel.views.pages import references, study_charts, study_latency
from windtunnel.views.pages.page import filled, host_lines, pretty
from windtunnel.views.study_sentences import all_sentences, point_words, state_words


@dataclass(frozen=True)
class Picture:
    """One metric of one workload: its plots and their caption."""

    title: str
    places: list[str]
    """Ids of the plots in the page."""
    caption: str


@dataclass(frozen=True)
class Line:
    """One point in the table below: its levels, and its metrics with their spread."""

    labels: list[str]
    runs: int
    cells: list[tuple[str, str]]


def write(study: Study) -> Path:
    """Writes report.html into the study's directory and returns its path. Raises UserError where it cannot."""
    path = study.path / "report.html"
    replace(path, render(study))
    return path


def render(study: Study) -> str:
    """The page as HTML. What came from users is escaped by the template, and in plots by `study_charts`."""
    record, rows = study.record, study.rows
    charts: dict[str, dict[str, Any]] = {}
    pictures = []
    for testbed, part in study.parts.items():
        own = [
            _picture(part, metric, workload, charts)
            for workload in workloads(part.rows)
            for metric in study_metrics.chosen(record.metrics, part.rows)
        ]
        own += _latency(part, charts)
        pictures += [Picture(_titled(each.title, testbed), each.places, each.caption) for each in own]
    return filled(
        "study.html",
        charts,
        study=study,
        record=record,
        running=[point for point in record.points if point.cannot_run is None],
        unrunnable=[
            (point_words(record, point.number), point.cannot_run) for point in record.points if point.cannot_run
        ],
        invalid=_invalid(record, rows),
        findings=all_sentences(study),
        host_state=state_words(study),
        pictures=pictures,
        tables=[
            (_titled(workload or "", testbed), _lines(part, workload))
            for testbed, part in study.parts.items()
            for workload in workloads(part.rows)
        ],
        names=study_metrics.chosen(record.metrics, rows),
        constant=_constant(record, rows),
        counters=_counters(record),
        host=host_lines(record.host),
        facts=pretty(record.host),
    )


def _titled(what: str, testbed: str | None) -> str:
    """A spread study has everything once for each testbed."""
    return f"{what}{' on ' * bool(what)}{testbed}" if testbed else what


def _latency(study: Study, charts: dict[str, dict[str, Any]]) -> list[Picture]:
    """The plots that the study file asks for in addition to its metrics."""
    found = study_latency.histograms(study) if study.record.latency else {}
    drawn = {
        "boxes": ("Latency", study_latency.boxes, study_latency.words(study, found) if found else ""),
        "percentiles": (
            "Latency by percentile",
            study_latency.percentile_curves,
            "All valid runs of a point together. Rarer responses are further right.",
        ),
    }
    pictures = []
    for name in study.record.latency:
        title, draw, caption = drawn[name]
        if plot := draw(study, found):
            charts[place := f"plot-{len(charts)}"] = plot
            pictures.append(Picture(title, [place], caption))
    return pictures


def _picture(study: Study, metric: str, workload: str | None, charts: dict[str, dict[str, Any]]) -> Picture:
    """Adds its plots to `charts`."""
    record, rows = study.record, of_workload(study.blocked.rows, workload)
    those = samples(rows, metric, workload)
    drawn = study_charts.all_of(study_charts.Drawn(record, metric, those)) if those else []
    places = []
    for plot in drawn:
        places.append(place := f"plot-{len(charts)}")
        charts[place] = plot
    title = f"{metric} of {workload}" if workload else metric
    runs = sum(len(sample.values) for sample in those)
    said = [f"n = {runs} runs of {len(those)} points; lines and cells are medians of a point’s runs"]
    spreads = [s for sample in those if (s := study_metrics.spread(sample.values, sample.median)) is not None]
    if spreads:
        middle = sorted(spreads)[len(spreads) // 2]
        said.append(
            f"runs of one point lie {percent(middle)} of the median apart (median over points), {percent(max(spreads))} at most"
        )
    else:
        said.append("one run per point: the spread is not known")
    out = sum(not has_metrics(row) for row in rows)
    missing = len(rows) - out - runs
    said.append(f"invalid runs excluded: {out}")
    if included := sum(not row["valid"] and has_metrics(row) for row in rows):
        said.append(f"invalid runs included: {included}")
    if study.record.reference and metric.endswith("mpps"):
        said.append(references.WORDS[study.record.reference])
    if missing:
        said.append(f"runs without this metric: {missing}")
    return Picture(title, places, "; ".join(said) + ".")


def _lines(study: Study, workload: str | None) -> list[Line]:
    """A point whose runs all missed the state of the host is there, with dashes."""
    record, rows = study.record, study.blocked.rows
    names = study_metrics.chosen(record.metrics, rows)
    found = {name: {s.point: s for s in samples(rows, name, workload)} for name in names}
    lines = []
    for number in sorted({row["point"] for row in study.rows}):
        point, cells = record.point(number), []
        for name in names:
            sample = found[name].get(number)
            spread = study_metrics.spread(sample.values, sample.median) if sample else None
            cells.append((study_metrics.text(name, sample.median if sample else None), percent(spread)))
        labels = [next(x.label for x in f.levels if x.cell == point.cells[f.name]) for f in record.factors]
        runs = sum(has_metrics(row) for row in of_workload(rows, workload) if row["point"] == number)
        lines.append(Line(labels, runs, cells))
    return lines


def _invalid(record: StudyRecord, rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Every run that stayed invalid: its directory and the reason."""
    those = {row["directory"]: "; ".join(row["reasons"]) for row in rows if not row["valid"]}
    return list(those.items())


def _counters(record: StudyRecord) -> str | None:
    """For a study of tables: the values of the thesis that need hardware counters. They are named as not available, never shown as 0."""
    if not any(".table." in key for factor in record.factors for key in factor.keys):
        return None
    probe = (record.host.get("counters") or {}).get("cache-misses") or {}
    reason = "not measured" if probe.get("works") else f"not available: {probe.get('reason') or 'not known here'}"
    return f"misses of the last-level cache, and loads blocked by failed store forwarding: {reason}"


def _constant(record: StudyRecord, rows: list[dict[str, Any]]) -> list[str]:
    """Factors of which only one level has run: no plot shows them."""
    finished = {row["point"] for row in rows}
    words = []
    for factor in record.factors:
        cells = {record.point(number).cells[factor.name] for number in finished}
        if len(cells) == 1:
            words.append(f"{factor.name} {next(x.label for x in factor.levels if x.cell in cells)}")
    return words
