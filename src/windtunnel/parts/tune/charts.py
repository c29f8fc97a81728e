"""The plots of a tuning: the path of its trials, the front, and what matters."""

from math import expm1
from typing import Any

from windtunnel.parts.tune.tuner import Tuned
from windtunnel.parts.tune.tuning_record import TrialRecord, middle_of
from windtunnel.results.charts.layout import SERIES, duration_ticks, label_text, layout_of

LEAST_SHARE = 0.005
_BAR_PX = 26


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
        "text": [label_text(f"{trial.words}: {trial.failure or trial.outcome}") for trial in trials],
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
            "text": [label_text(f"trial {trial.number}: {trial.words}") for _, trial in shown],
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


def importance(shares: dict[str, float]) -> dict[str, Any]:
    """Importance of each factor, the greatest on top."""
    shown = [(name, share) for name, share in shares.items() if share >= LEAST_SHARE][::-1]
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "x": [share for _, share in shown],
            "y": [label_text(name) for name, _ in shown],
            "marker": {"color": SERIES[0]},
            "hovertemplate": "%{y}: %{x:.0%}<extra></extra>",
        }
    ]
    layout = layout_of(60 + _BAR_PX * len(shown))
    layout["xaxis"] |= {"tickformat": ".0%", "rangemode": "tozero"}
    return {"data": data, "layout": layout | {"showlegend": False}}
