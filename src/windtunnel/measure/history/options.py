"""`--fail-if` of a history: `regression`, `regression:5%`, or a metric's own threshold, as in `p99:+10%`."""

from collections.abc import Iterator, Sequence

from windtunnel.measure.compare.options import Condition, Decided, condition
from windtunnel.measure.history.model import ChangePoint, Histories, History, InState
from windtunnel.measure.history.words import change_words, state_name

REGRESSION = "regression"
EXAMPLE = "as in regression, regression:5%, p99:+10%, responses_per_s:-5%, or server.app_rx.work_ns:+3%"


def conditions(texts: Sequence[str]) -> list[Condition]:
    """Raises UserError for one that means nothing."""
    return [condition(text, (REGRESSION,), EXAMPLE) for text in texts]


def decide(asked: Sequence[Condition], found: Histories) -> Decided:
    """A condition is met if a change in its direction persists, with its whole interval beyond the threshold. It is not met if none
    of the interval is, or if there is no change and one as great as the threshold would have been found. Otherwise these runs cannot
    tell, nor can too few runs in the state of the newest one: those of other states are older."""
    decisions = [
        decision
        for history in found.histories
        for in_state in history.states
        for each in asked
        for decision in _decisions(each, history, in_state)
    ]
    decisions += [(None, f"{history.title}: no valid run") for history in found.histories if not history.states]
    met, doubtful = (list(dict.fromkeys(reason for is_met, reason in decisions if is_met is w)) for w in (True, None))
    return Decided(met, doubtful)


Decision = tuple[bool | None, str]
"""Whether a condition is met, None: cannot tell; and why."""


def _decisions(asked: Condition, history: History, in_state: InState) -> Iterator[Decision]:
    where = state_name(history, in_state)
    metrics = [m for m in in_state.metrics if (m.decides if asked.what == REGRESSION else m.metric == asked.what)]
    for metric in metrics:
        if metric.unjudged:
            yield (None if in_state.newest else False), f"{where}: {asked.text}: {metric.metric}: {metric.unjudged}"
            continue
        changes = [c for c in metric.changes if c.persists and _in_direction(asked, c)]
        for change in changes:
            yield _beyond(asked, change), f"{where}: {change_words(in_state, metric, change)}"
        if not changes and (metric.detectable or 0) > asked.percent > 0:
            smallest = f"the smallest change that {metric.metric} would show is {metric.detectable:.1f}%"
            yield None, f"{where}: {asked.text}: {smallest}"
    if not metrics:
        yield (None if in_state.newest else False), f"{where}: {asked.text}: not measured"


def _in_direction(asked: Condition, change: ChangePoint) -> bool:
    if asked.what == REGRESSION:
        return change.kind == "regression"
    return (change.percent > 0) == (asked.sign > 0)


def _beyond(asked: Condition, change: ChangePoint) -> bool | None:
    nearest, farthest = (change.low, change.high) if change.percent > 0 else (-change.high, -change.low)
    if nearest > asked.percent:
        return True
    return False if farthest <= asked.percent else None
