"""The report of a tuning: the path of its trials with their reasons, what matters, and the front, in one HTML file."""

from html import escape
from math import expm1
from pathlib import Path
from typing import Any

from windtunnel.runs.files import replace
from windtunnel.text_file import MOST_RECORD_BYTES, read_regular
from windtunnel.tune.propose import importances
from windtunnel.tune.record import TrialRecord, middle_of
from windtunnel.tune.tuner import Tuned
from windtunnel.views.pages.charts import SERIES
from windtunnel.views.pages.layout import duration_ticks, layout_of
from windtunnel.views.pages.page import filled, host_lines, pretty
from windtunnel.views.tune_words import difference_words, gain_words, latency_words, pairs_counted, sentences

LEAST_SHARE = 0.005
_BAR_PX = 26


def write(tuned: Tuned) -> Path:
    """Writes report.html into the tuning's directory and returns its path. Raises UserError where it cannot."""
    path = tuned.path / "report.html"
    replace(path, render(tuned))
    return path


def render(tuned: Tuned) -> str:
    """The page as HTML. What came from users is escaped by the template, and in plots here."""
    charts = {}
    if plot := path(tuned):
        charts["path"] = plot
    if tuned.record.objective == "pareto" and (plot := front(tuned)):
        charts["front"] = plot
    shares = importances(tuned.factors, tuned.seen)
    if shares:
        charts["importances"] = bars(shares)
    return filled(
        "tune.html",
        charts,
        record=tuned.record,
        goal=tuned.record.goal.words,
        tuned=tuned,
        best=tuned.best,
        final=tuned.final,
        sentences=sentences(tuned),
        difference=difference_words,
        gain=gain_words,
        latency=latency_words,
        pairs=pairs_counted,
        best_text=read_regular(tuned.best_file, MOST_RECORD_BYTES).decode() if tuned.best_file else None,
        host=host_lines(tuned.record.host),
        facts=pretty(tuned.record.host),
        scenario=tuned.record.scenario.text,
    )


def path(tuned: Tuned) -> dict[str, Any] | None:
    """Each trial's throughput over the file's, with the interval of its difference; the incumbent as a line."""
    shown = [trial for trial in tuned.trials if trial.gain is not None and trial.number > 0]
    if not shown:
        return None
    better = [trial for trial in shown if trial.outcome == "better"]
    rest = [trial for trial in shown if trial.outcome != "better"]
    data = [_points("trials", rest, "var(--muted)"), _points("better", better, SERIES[0]), _steps(tuned, shown)]
    layout = layout_of(340)
    layout["xaxis"] |= {"title": {"text": "trial"}, "tickformat": "d"}
    layout["yaxis"] |= {"title": {"text": "throughput over the file's"}, "tickformat": "+.0%"}
    return {"data": data, "layout": layout | {"showlegend": True}}


def _points(name: str, trials: list[TrialRecord], colour: str) -> dict[str, Any]:
    up, down = [], []
    for trial in trials:
        middle, offset = expm1(trial.gain or 0.0), (trial.gain or 0.0) - (trial.difference or 0.0)
        up.append(expm1(offset + trial.high) - middle if trial.high is not None else 0.0)
        down.append(middle - expm1(offset + trial.low) if trial.low is not None else 0.0)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [trial.number for trial in trials],
        "y": [expm1(trial.gain or 0.0) for trial in trials],
        "error_y": {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "width": 3, "thickness": 1},
        "text": [escape(f"{trial.words}: {trial.failure or trial.outcome}") for trial in trials],
        "hovertemplate": "trial %{x}, %{y:+.1%}<br>%{text}<extra></extra>",
        "marker": {"size": 8, "color": colour},
    }


def _steps(tuned: Tuned, shown: list[TrialRecord]) -> dict[str, Any]:
    """What the best was after each trial."""
    x, y, best = [0], [0.0], 0.0
    for trial in shown:
        if trial.outcome == "better":
            best = trial.gain or 0.0
        x.append(trial.number)
        y.append(expm1(best))
    line = {"color": SERIES[0], "width": 2, "shape": "hv"}
    return {"type": "scatter", "mode": "lines", "name": "incumbent", "x": x, "y": y, "line": line, "hoverinfo": "skip"}


def front(tuned: Tuned) -> dict[str, Any] | None:
    """Throughput against latency, or against CPUs; the front as a line."""
    by_latency = tuned.record.goal.latency is not None

    def across(trial: TrialRecord) -> float | None:
        if by_latency:
            return middle_of(trial.latency) if trial.latency else None
        return float(trial.workers)

    shown = [(x, trial) for trial in tuned.trials if trial.gain is not None and (x := across(trial)) is not None]
    if not shown:
        return None
    line = sorted((x, expm1(trial.gain or 0.0)) for x, trial in shown if trial in tuned.front)
    data = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "trials",
            "x": [x for x, _ in shown],
            "y": [expm1(trial.gain or 0.0) for _, trial in shown],
            "text": [escape(f"trial {trial.number}: {trial.words}") for _, trial in shown],
            "hovertemplate": "%{text}, %{y:+.1%}<extra></extra>",
            "marker": {"size": 8, "color": "var(--muted)"},
        },
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": "front",
            "x": [x for x, _ in line],
            "y": [y for _, y in line],
            "line": {"color": SERIES[0], "width": 2, "shape": "hv"},
            "hoverinfo": "skip",
        },
    ]
    layout = layout_of(340)
    if by_latency:
        layout["xaxis"] |= {"title": {"text": "p99"}, "type": "log"} | duration_ticks([int(x) for x, _ in shown])
    else:
        layout["xaxis"] |= {"title": {"text": "CPUs of the server"}, "dtick": 1}
    layout["yaxis"] |= {"title": {"text": "throughput over the file's"}, "tickformat": "+.0%"}
    return {"data": data, "layout": layout | {"showlegend": True}}


def bars(shares: dict[str, float]) -> dict[str, Any]:
    """Importance of each factor, the greatest on top."""
    shown = [(name, share) for name, share in shares.items() if share >= LEAST_SHARE][::-1]
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "x": [share for _, share in shown],
            "y": [escape(name) for name, _ in shown],
            "marker": {"color": SERIES[0]},
            "hovertemplate": "%{y}: %{x:.0%}<extra></extra>",
        }
    ]
    layout = layout_of(60 + _BAR_PX * len(shown))
    layout["xaxis"] |= {"tickformat": ".0%", "rangemode": "tozero"}
    return {"data": data, "layout": layout | {"showlegend": False}}
