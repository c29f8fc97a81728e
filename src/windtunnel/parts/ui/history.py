"""The page History: one metric of one scenario over its runs, with its change points."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, Response

from windtunnel.errors import UserError
from windtunnel.index.entry import shortened
from windtunnel.index.index import Index, Listed
from windtunnel.measure.compare.reading import Reading
from windtunnel.measure.history.history_record import ChangePoint, History, InState, Metric
from windtunnel.measure.history.verdict_sentences import (
    left_out_text,
    metric_name,
    percents,
    run_name,
    verdict_sentences,
)
from windtunnel.parts.ui.templates import Pages

MOST_ROWS = 200
"""Runs in the table, the last ones."""
NS_A_US, M = 1e3, 1e6


@dataclass(frozen=True)
class Selection:
    """The choices in the query. A choice that does not exist is ignored."""

    history: str
    run: str
    metric: str
    by: str
    state: str


@dataclass(frozen=True)
class TableRow:
    """A run in the table."""

    name: str
    path: str
    """The path of the run in the index."""
    value: float | None
    verdict: str
    change: str
    kind: str | None


def add_to(app: FastAPI, pages: Pages, index: Index) -> None:
    @app.get("/history")
    def show(of: str = "", run: str = "", metric: str = "", by: str = "", state: str = "") -> Response:
        selection = Selection(of, run, metric, by, state)
        try:
            histories = index.histories()
            chosen = _chosen(histories, selection, index)
            view = _view(index, chosen, selection) if chosen else {}
        except UserError as error:
            return HTMLResponse(pages.filled("refused.html", page="history", title="No history", error=error))
        return HTMLResponse(
            pages.filled("history.html", page="history", index=index, listed=histories, chosen=chosen, **view)
        )


def _chosen(histories: list[Listed], selection: Selection, index: Index) -> Listed | None:
    """The selected history, or that of the selected run, else the newest one that can be judged."""
    from windtunnel.stats.levels import LEAST_RUNS

    key = index.history_of(selection.run) if selection.run else selection.history
    exact = [entry for entry in histories if entry.key == key]
    judged = [entry for entry in histories if entry.runs >= LEAST_RUNS]
    return next(iter([*exact, *judged, *histories]), None)


def _view(index: Index, chosen: Listed, selection: Selection) -> dict[str, Any]:
    from windtunnel.measure.history.judge import history  # imports SciPy, which is half of the server's memory

    readings = index.readings(chosen.key)
    labels = sorted({key for reading in readings for key in reading.labels})
    by = selection.by if selection.by in labels else None
    judged = history(readings, by, only=[selection.metric.rpartition(" ")[2]])
    about = {"labels": labels, "by": by, "judged": judged, "metrics": _names(judged, readings)}
    about |= {"out": left_out_text(judged), "in_state": None}
    if not judged.states:
        return about
    in_state = next((entry for entry in judged.states if entry.state == selection.state), judged.states[0])
    metric = next((entry for entry in in_state.metrics if metric_name(entry) == selection.metric), in_state.metrics[0])
    rows = [_row(index, in_state, metric, place) for place in range(len(in_state.runs))]
    kinds: list[str | None] = [*(change.kind for change in metric.changes)]
    return about | {
        "in_state": in_state,
        "metric": metric,
        "name": metric_name(metric),
        "verdicts": [*zip(kinds or [None], verdict_sentences(in_state, metric), strict=True)],
        "rows": rows[::-1][:MOST_ROWS],
        "series": json.dumps(_series(in_state, metric, rows, by)),
    }


def _names(judged: History, readings: list[Reading]) -> list[str]:
    """The names of all metrics, those that decide first."""
    deciding = [metric_name(metric) for in_state in judged.states for metric in in_state.metrics if metric.decides]
    measured = [f"{workload} {metric}".strip() for reading in readings for workload, metric in reading.values]
    return list(dict.fromkeys([*deciding, *measured]))


def _row(index: Index, in_state: InState, metric: Metric, place: int) -> TableRow:
    run, change = in_state.runs[place], next((c for c in metric.changes if c.run == place), None)
    return TableRow(
        name=run_name(run),
        path=index.path_of(Path(run.path)),
        value=metric.values[place],
        verdict="valid, limits relaxed" if run.relaxed else "valid",
        change=_change_words(change) if change else "",
        kind=change.kind if change else None,
    )


def _change_words(change: ChangePoint) -> str:
    with_it = f", with {'; '.join(change.changed)}" if change.changed else ""
    return (
        f"{change.kind} {percents(change)}{shortened(with_it)}{'' if change.persists else '; the last runs are back'}"
    )


def _series(in_state: InState, metric: Metric, rows: list[TableRow], by: str | None) -> dict[str, Any]:
    """The data of the chart: rates in M/s, times in µs."""
    scale = M if metric.unit == "/s" else NS_A_US
    levels: list[float | None] = [None] * len(rows)
    for level in metric.levels:
        levels[level.first : level.last + 1] = [level.median / scale] * (level.last + 1 - level.first)
    return {
        "of": "rate" if metric.unit == "/s" else "latency",
        "values": [None if value is None else value / scale for value in metric.values],
        "levels": levels,
        "changes": [change.run for change in metric.changes],
        "paths": [row.path for row in rows],
        "names": [run_name(run) for run in in_state.runs],
        "versions": [run.labels[by] for run in in_state.runs] if by else None,
        "times": None if by else [run.started.timestamp() for run in in_state.runs],
    }
