"""Sentences for the verdicts of a history."""

from windtunnel.host import states
from windtunnel.measure.history.history_record import ChangePoint, History, HistoryRun, InState, Metric
from windtunnel.runs import labels


def state_name(history: History, in_state: InState) -> str:
    """The scenario, and the state of the host if one is known."""
    return f"{history.title} on {states.words(in_state.state)}" if in_state.state else history.title


def left_out_text(history: History) -> str:
    """Counts of the runs that were left out, as in "2 invalid, 1 without the label"; empty if every run is in a state."""
    counts = (
        (history.invalid, "invalid"),
        (history.undated, "without the time at which they began"),
        (history.unlabelled, "without the label"),
        (history.unplaced, "in a state that is not known"),
    )
    return ", ".join(f"{count} {reason}" for count, reason in counts if count)


def metric_name(metric: Metric) -> str:
    return f"{metric.workload} {metric.metric}" if metric.workload else metric.metric


def run_name(run: HistoryRun) -> str:
    """The labels of a run and its date, UTC."""
    when = f"{run.started:%Y-%m-%d %H:%M}"
    return f"{labels.words(run.labels)} ({when})" if run.labels else when


def percents(change: ChangePoint) -> str:
    """The change in percent, as in "-5.1% [-6.0% .. -4.2%]", and whether that is likely too much."""
    early = "" if change.later else ", by the runs that showed it"
    return f"{change.percent:+.1f}% [{change.low:+.1f}% .. {change.high:+.1f}%]{early}"


def change_sentence(in_state: InState, metric: Metric, change: ChangePoint) -> str:
    """The change in a line: "regression: commit=8fe5ed78 (2026-11-20 12:00): echo responses_per_s -5.1% [-6.0% .. -4.2%], 14 runs since"."""
    run = in_state.runs[change.run]
    since = len(in_state.runs) - change.run
    back = "" if change.persists else ", and the last runs are back"
    runs = "1 run" if since == 1 else f"{since} runs"
    return f"{change.kind}: {run_name(run)}: {metric_name(metric)} {percents(change)}, {runs} since{back}"


def absent_sentence(metric: Metric) -> str:
    """Why the newest runs have no value of a metric, as in "10 newest runs: so many messages were lost that it is beyond any response"."""
    count = metric.beyond or metric.absent
    runs = "newest run" if count == 1 else f"{count} newest runs"
    why = "so many messages were lost that it is beyond any response" if metric.beyond else "not measured"
    return f"{metric_name(metric)}, {runs}: {why}"


def no_change_sentence(metric: Metric) -> str:
    """What is known of a metric without a change point, or why nothing is."""
    if metric.absent:
        return f"cannot tell: {absent_sentence(metric)}"
    if metric.unjudged:
        return f"cannot tell: {metric.unjudged}"
    return f"no change point; the last runs would show a change of {metric.detectable:.1f}%"


def verdict_sentences(in_state: InState, metric: Metric) -> list[str]:
    """One sentence for each change point, or one that says that there is none."""
    return [change_sentence(in_state, metric, change) for change in metric.changes] or [no_change_sentence(metric)]
