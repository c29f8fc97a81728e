"""All trials of a search by their loads, and the two loads that matter to a goal."""

from dataclasses import dataclass, field

from windtunnel.measure.search.classification import Bound, classify
from windtunnel.measure.search.goals import Goal
from windtunnel.measure.search.trials import TrialResult


@dataclass(frozen=True)
class Bounds:
    """Loads, per second; None if there is none."""

    lower: float | None
    """The largest lower bound below `upper`; without an upper bound the largest one there is, which the RFC calls
    effective."""
    upper: float | None

    @property
    def width(self) -> float | None:
        """Width as a share of the upper bound; None unless both are there."""
        if self.lower is None or self.upper is None:
            return None
        return (self.upper - self.lower) / self.upper


@dataclass
class Trials:
    """Included trials in the order in which they were run, by load."""

    by_load: dict[float, list[TrialResult]] = field(default_factory=dict)

    def add(self, trial: TrialResult) -> None:
        self.by_load.setdefault(trial.load, []).append(trial)

    def at(self, load: float) -> list[TrialResult]:
        return self.by_load.get(load, [])

    def bounds(self, goal: Goal, within: Bounds = Bounds(None, None)) -> Bounds:
        """The relevant bounds (RFC 9971, sections 4.8.1 and 4.8.2). If a larger load did better than a smaller
        one, the smaller one is believed (section 5.3.3). `within`: bounds that are taken for granted; only loads
        between them count."""
        lower = within.lower
        for load in sorted(self.by_load):
            if within.lower is not None and load <= within.lower:
                continue
            if within.upper is not None and load >= within.upper:
                break
            bound = classify(goal, self.by_load[load])
            if bound is Bound.UPPER:
                return Bounds(lower, load)
            if bound is Bound.LOWER:
                lower = load
        return Bounds(lower, within.upper)
