"""The search for several goals at once: MLRsearch, RFC 9971. Its trials are a callable; it knows nothing of what
they run."""

from collections.abc import Callable, Sequence

from windtunnel.errors import UserError
from windtunnel.measure.search.choice import Chooser
from windtunnel.measure.search.estimate import estimate
from windtunnel.measure.search.goals import Goal, Limits
from windtunnel.measure.search.grid import Grid
from windtunnel.measure.search.results import GoalResult, SearchResult, goal_result
from windtunnel.measure.search.trial_log import Log
from windtunnel.measure.search.trials import Measure, TrialResult

OnTrial = Callable[[TrialResult, tuple[GoalResult, ...]], None]
"""Called after every trial, excluded ones too, with what is known for each goal by then."""


def search(measure: Measure, goals: Sequence[Goal], limits: Limits, on_trial: OnTrial | None = None) -> SearchResult:
    """The highest load that keeps each of the goals, and the trials that this rests on.

    All goals share all trials. Of those that they ask for, the smallest load goes first, because what happens there
    can overturn what was found above (RFC 9971, section 5.3.4); then the longest trial. A device that has to warm up
    is warm before this is called. Raises UserError for goals without names of their own, TrialFailed for a trial
    that raises or gives what cannot be.
    """
    names = [goal.name for goal in goals]
    if not names or len(set(names)) < len(names):
        raise UserError(f"a search for the goals {names}", remedy="at least one, each with a unique name")
    log = Log(measure, limits)

    def results(stopped: str | None = None) -> tuple[GoalResult, ...]:
        return tuple(goal_result(goal, limits, log.trials, stopped) for goal in goals)

    def tell(trial: TrialResult) -> None:
        if on_trial is not None:
            on_trial(trial, results())

    # far above every limit, or no limit can be found; what is carried there is the first estimate (FRMOL, RFC 2285, section 3.6.2)
    stopped = log.run(limits.max_load, max(goal.initial_trial_duration_s for goal in goals), tell)
    strictest = min(goals, key=lambda goal: goal.loss_ratio)
    midway = estimate(strictest, log.trials.at(limits.max_load), limits.max_load) or limits.max_load
    grid = Grid(limits, min(goal.width for goal in goals), min(max(midway, limits.min_load), limits.max_load))
    choosers = [Chooser(goal, grid) for goal in goals]
    while stopped is None:
        next_trials = [trial for chooser in choosers if (trial := chooser.next(log.trials)) is not None]
        if not next_trials:
            break
        load, duration_s = min(next_trials, key=lambda trial: (trial[0], -trial[1]))
        stopped = log.run(load, duration_s, tell)
    return SearchResult(results(stopped), tuple(log.finished), log.elapsed_s, stopped)
