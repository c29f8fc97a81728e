"""`--fail-if` of a history: `regression`, `regression:5%`, or a metric's own threshold, as in `p99:+10%`."""

from collections.abc import Iterator, Sequence

from windtunnel.measure.compare.conditions import Condition, Decided, parse_condition
from windtunnel.measure.history.history_record import ChangePoint, Histories, History, InState, Metric
from windtunnel.measure.history.verdict_sentences import absent_sentence, change_sentence, state_name
from windtunnel.stats.levels import LEAST_BETWEEN

REGRESSION = "regression"
EXAMPLE = "as in regression, regression:5%, p99:+10%, responses_per_s:-5%, or server.app_rx.work_ns:+3%"


def conditions(texts: Sequence[str]) -> list[Condition]:
    """The conditions in these texts. Raises UserError for a text that is no condition."""
    return [parse_condition(text, (REGRESSION,), EXAMPLE) for text in texts]


def decide(conditions: Sequence[Condition], histories: Histories) -> Decided:
    """A condition is met if a change in its direction persists, with its whole interval beyond the threshold. It is not met if none
    of the interval is, or if there is no change and one as great as the threshold would have been found. Otherwise these runs cannot
    tell, nor can too few runs in the state of the newest one: those of other states are older. Nor can they if the newest runs are invalid, left out, or
    without the metric, unless it is a percentile that is beyond any response in several of them, which has risen beyond any threshold."""
    decisions = [
        decision
        for history in histories.histories
        for in_state in history.states
        for condition in conditions
        for decision in _decisions(condition, history, in_state)
    ]
    decisions += [(None, f"{history.title}: no valid run") for history in histories.histories if not history.states]
    if conditions:
        decisions += [(None, reason) for history in histories.histories for reason in _not_judged(history)]
    met, doubtful = (list(dict.fromkeys(reason for is_met, reason in decisions if is_met is w)) for w in (True, None))
    return Decided(met, doubtful)


def _not_judged(history: History) -> Iterator[str]:
    """Why runs that may be the newest ones of a history are not judged."""
    if history.states and history.newest_invalid:
        runs = "newest run is" if history.newest_invalid == 1 else f"{history.newest_invalid} newest runs are"
        yield f"{history.title}: the {runs} invalid"
    if history.states and history.newest_left_out:
        runs = "newest run is" if history.newest_left_out == 1 else f"{history.newest_left_out} newest runs are"
        yield f"{history.title}: the {runs} left out: the host's state is not known, or the label is missing"
    if history.undated:
        runs = "1 run" if history.undated == 1 else f"{history.undated} runs"
        yield f"{history.title}: it is not known when {runs} began"


Decision = tuple[bool | None, str]
"""Whether a condition is met, None: cannot tell; and why."""


def _decisions(condition: Condition, history: History, in_state: InState) -> Iterator[Decision]:
    where = state_name(history, in_state)
    metrics = [
        m for m in in_state.metrics if (m.decides if condition.subject == REGRESSION else m.metric == condition.subject)
    ]
    for metric in metrics:
        if in_state.newest and metric.absent:
            lost = metric.beyond >= LEAST_BETWEEN and _rises(condition, metric)
            yield lost or None, f"{where}: {condition.text}: {absent_sentence(metric)}"
            continue
        if metric.unjudged:
            yield (
                (None if in_state.newest else False),
                f"{where}: {condition.text}: {metric.metric}: {metric.unjudged}",
            )
            continue
        changes = [c for c in metric.changes if c.persists and _in_direction(condition, c)]
        for change in changes:
            yield _beyond(condition, change), f"{where}: {change_sentence(in_state, metric, change)}"
        if not changes and (metric.detectable or 0) > condition.percent > 0:
            smallest = f"the smallest change that {metric.metric} would show is {metric.detectable:.1f}%"
            yield None, f"{where}: {condition.text}: {smallest}"
    if not metrics:
        yield (None if in_state.newest else False), f"{where}: {condition.text}: not measured"


def _rises(condition: Condition, metric: Metric) -> bool:
    """Whether the condition is that this metric rises."""
    return metric.better == "lower" if condition.subject == REGRESSION else condition.sign > 0


def _in_direction(condition: Condition, change: ChangePoint) -> bool:
    if condition.subject == REGRESSION:
        return change.kind == "regression"
    return (change.percent > 0) == (condition.sign > 0)


def _beyond(condition: Condition, change: ChangePoint) -> bool | None:
    nearest, farthest = (change.low, change.high) if change.percent > 0 else (-change.high, -change.low)
    if nearest > condition.percent:
        return True
    return False if farthest <= condition.percent else None
