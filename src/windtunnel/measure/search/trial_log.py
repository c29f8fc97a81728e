"""Running the trials of a search: what comes back is checked, excluded trials are run again, limits are kept."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from windtunnel.errors import UserError
from windtunnel.measure.search.bounds import Trials
from windtunnel.measure.search.goals import Limits
from windtunnel.measure.search.trials import Measure, TrialResult


class TrialFailed(UserError):
    """A trial raised, or gave what cannot be; the first cause is `__cause__`. `trials`: those that were run before."""

    def __init__(self, message: str, remedy: str | None, trials: tuple[TrialResult, ...]):
        super().__init__(message, remedy)
        self.trials = trials


@dataclass
class Log:
    """Everything run so far, and the one way to run more."""

    measure: Measure
    limits: Limits
    finished: list[TrialResult] = field(default_factory=list)
    trials: Trials = field(default_factory=Trials)
    """The included ones."""

    @property
    def elapsed_s(self) -> float:
        return math.fsum(trial.took for trial in self.finished)

    def run(self, load: float, duration_s: float, on_trial: Callable[[TrialResult], None]) -> str | None:
        """Measures until one trial is included. Returns the reason why the search must end, or None. Raises TrialFailed."""
        for _ in range(self.limits.excluded):
            if (reason := self._out_of(duration_s)) is not None:
                return reason
            trial = self._measured(load, duration_s)
            self.finished.append(trial)
            if trial.excluded is None:
                self.trials.add(trial)
            on_trial(trial)
            if trial.excluded is None:
                return None
        times = f"{self.limits.excluded} trials in a row" if self.limits.excluded > 1 else "a trial"
        return f"{times} of {duration_s:g} s at a load of {load:g} were excluded; the last one: {trial.excluded}"

    def _out_of(self, duration_s: float) -> str | None:
        if len(self.finished) >= self.limits.trials:
            return f"all {self.limits.trials} allowed trials are used"
        if self.limits.time_s is None:
            return None
        overhead_s = math.fsum(t.took - t.duration_s for t in self.finished) / max(1, len(self.finished))
        if self.elapsed_s + duration_s + overhead_s <= self.limits.time_s:
            return None
        return (
            f"of the {self.limits.time_s:g} s allowed, {self.elapsed_s:.4g} s are gone: too few left for another trial"
        )

    def _measured(self, load: float, duration_s: float) -> TrialResult:
        name = f"trial {len(self.finished) + 1} (a load of {load:g} for {duration_s:g} s)"
        try:
            trial = self.measure(load, duration_s)
        except Exception as error:
            remedy = error.remedy if isinstance(error, UserError) else None
            raise TrialFailed(f"{name}: {error or type(error).__name__}", remedy, tuple(self.finished)) from error
        if not isinstance(trial, TrialResult):
            raise TrialFailed(f"{name} gave no TrialResult but {trial!r}", None, tuple(self.finished))
        if (trial.load, trial.duration_s) != (load, duration_s):
            other = f"a load of {trial.load:g} for {trial.duration_s:g} s"
            raise TrialFailed(f"{name} came back as another one: {other}", None, tuple(self.finished))
        return trial
