"""The results of a search for each goal: numbers, and the reason for an irregular one."""

from dataclasses import dataclass
from statistics import median

from windtunnel.measure.search.bounds import Trials
from windtunnel.measure.search.classification import conditional_throughput, fails, is_full
from windtunnel.measure.search.goals import Goal, Limits
from windtunnel.measure.search.trials import TrialResult
from windtunnel.stats.median import interval


@dataclass(frozen=True)
class GoalResult:
    """Regular or irregular (RFC 9971, section 4.8.4). Loads and rates per second, of the unit of the trials.

    Irregular results are returned with everything that they have; whoever shows one has to mark it as
    irregular.
    """

    goal: Goal
    irregular: str | None
    """The reason; None for a regular result."""
    relevant_lower_bound: float | None
    """Irregular without an upper bound: the largest lower bound, which section 4.8.4.2 calls effective."""
    relevant_upper_bound: float | None
    conditional_throughput: float | None
    """Throughput at the relevant lower bound; never above it."""
    lower_trials: tuple[TrialResult, ...]
    upper_trials: tuple[TrialResult, ...]
    """The trials at the two bounds, in the order in which they were run."""

    @property
    def regular(self) -> bool:
        return self.irregular is None

    @property
    def width(self) -> float | None:
        """Reached, as a share of the upper bound; None unless both bounds are there."""
        if self.relevant_lower_bound is None or self.relevant_upper_bound is None:
            return None
        return (self.relevant_upper_bound - self.relevant_lower_bound) / self.relevant_upper_bound

    @property
    def limited_by_generator(self) -> bool:
        """Whether in most trials that fail at the upper bound the generator sent less than it was asked to, and the device lost no more than
        it may: the bound is the generator's."""
        failed = [trial for trial in self.upper_trials if fails(self.goal, trial)]
        unsent = [trial for trial in failed if trial.unsent and trial.device_loss_ratio <= self.goal.loss_ratio]
        return 2 * len(unsent) > len(failed)

    @property
    def latency_ns(self) -> float | None:
        """The objective's percentile at the relevant lower bound, the median of its full-length trials; at the relevant upper bound if there
        is no lower one; infinite if half of the trials lost too many messages for one. None without an objective or such trials."""
        return median(latencies_ns) if (latencies_ns := self._latencies_ns) else None

    @property
    def latency_interval_ns(self) -> tuple[float, float] | None:
        """The 95% interval of that median; None: too few trials."""
        low, high = interval(self._latencies_ns)
        return None if low is None or high is None else (low, high)

    @property
    def _latencies_ns(self) -> list[float]:
        if self.goal.latency is None:
            return []
        trials = self.lower_trials or self.upper_trials
        full = [trial.latencies for trial in trials if is_full(self.goal, trial) and trial.latencies]
        return [latencies.percentile_ns(self.goal.latency.share) for latencies in full]


@dataclass(frozen=True)
class SearchResult:
    """Results in the order of the goals (RFC 9971, section 4.8.5), and all trials in theirs."""

    goals: tuple[GoalResult, ...]
    trials: tuple[TrialResult, ...]
    """Including excluded trials."""
    elapsed_s: float
    """Time that the trials reported."""
    stopped: str | None
    """The reason why the search ended before its time; None for one that ran to its end."""

    def __getitem__(self, name: str) -> GoalResult:
        """Returns the result of the goal of this name. Raises KeyError if there is none."""
        return {result.goal.name: result for result in self.goals}[name]


def goal_result(goal: Goal, limits: Limits, trials: Trials, stopped: str | None) -> GoalResult:
    """Computes a goal's result from the trials so far; also in the middle of a search."""
    bounds = trials.bounds(goal)
    lower, upper = bounds.lower, bounds.upper
    if bounds.width is not None and bounds.width <= goal.width:
        irregular = None
    elif upper is not None and upper <= limits.min_load:
        irregular = f"even the lowest load, {limits.min_load:g}, does not meet the goal: no load that was offered does"
    elif upper is None and lower is not None and lower >= limits.max_load:
        irregular = f"the highest load, {limits.max_load:g}, still meets the goal: the limit lies above"
    else:
        irregular = stopped or "the search is not at its end"
    return GoalResult(
        goal=goal,
        irregular=irregular,
        relevant_lower_bound=lower,
        relevant_upper_bound=upper,
        conditional_throughput=None if lower is None else conditional_throughput(goal, lower, trials.at(lower)),
        lower_trials=() if lower is None else tuple(trials.at(lower)),
        upper_trials=() if upper is None else tuple(trials.at(upper)),
    )
