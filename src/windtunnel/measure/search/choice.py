"""The next load for one goal. RFC 9971 leaves the choice free (section 4.1.3): it changes what a search costs, not what it means.

Two loads are wanted: places of the grid on both sides of the estimated limit, no further apart than the goal's width. They
are looked for with single short trials, then measured until the goal itself is decided at both. The upper one goes first: its
trials overload the device, and each says how much was carried, from which the place of the lower one follows.
"""

from dataclasses import replace

from windtunnel.measure.search.bounds import Bounds, Trials
from windtunnel.measure.search.estimate import estimate
from windtunnel.measure.search.goals import Goal
from windtunnel.measure.search.grid import Grid


def stages(goal: Goal) -> list[Goal]:
    """The goal, and before it a coarse one that leads to it: one trial of the initial duration at a load. More stages between the
    two were tried and dropped: they cost more than they saved."""
    first = goal.initial_trial_duration_s
    if goal.duration_sum_s <= first:
        return [goal]
    return [replace(goal, final_trial_duration_s=first, duration_sum_s=first), goal]


class Chooser:
    """Proposes trials for one goal until it has both bounds, or one that is as good as the limits allow."""

    def __init__(self, goal: Goal, grid: Grid):
        self.goal, self.grid = goal, grid
        self.done: list[Goal] = []
        self.ahead = stages(goal)
        """A stage that was done once is not gone back to, even if later trials overturn its bounds: that is how a search ends."""
        self.reach = grid.within(goal.width)
        """Places between the two loads."""
        self.asked: float | None = None
        self.way: str | None = None
        """That the asked loads moved the bounds, "up" or "down", and how often in a row."""
        self.moves = 0

    def next(self, trials: Trials) -> tuple[float, float] | None:
        """Load (per second) and duration (seconds) of the next trial; None when there is nothing left to find out."""
        while self._is_done(stage := self.ahead[0], bounds := trials.bounds(stage)):
            if len(self.ahead) == 1:
                return None
            self.done.append(self.ahead.pop(0))
            self.asked, self.way, self.moves = None, None, 0
        self._follow(bounds)
        limit = self._limit(trials, bounds)
        self.asked = self.grid.load(self._place(bounds, limit))
        return self.asked, stage.final_trial_duration_s

    def _is_done(self, stage: Goal, bounds: Bounds) -> bool:
        if bounds.lower == self.grid.greatest or bounds.upper == self.grid.least:
            return True
        return bounds.width is not None and bounds.width <= stage.width

    def _follow(self, bounds: Bounds) -> None:
        """Counts how often in a row what was asked for became a bound on the same side."""
        if self.asked not in (bounds.lower, bounds.upper):
            return
        way = "up" if self.asked == bounds.lower else "down"
        self.moves = self.moves + 1 if way == self.way else 1
        self.way = way

    def _limit(self, trials: Trials, bounds: Bounds) -> float | None:
        """Position of the estimated limit, at most a pair's distance outside what the coarse stage found."""
        load = estimate(self.goal, [trial for at in trials.by_load.values() for trial in at], bounds.upper)
        if load is None:
            return None
        position = self.grid.position(load)
        for stage in self.done:
            coarse = trials.bounds(stage)
            if coarse.lower is not None:
                position = max(position, self.grid.place(coarse.lower) - self.reach)
            if coarse.upper is not None:
                position = min(position, self.grid.place(coarse.upper) + self.reach)
        return position

    def _place(self, bounds: Bounds, limit: float | None) -> int:
        """Between the bounds, without them."""
        lower = None if bounds.lower is None else self.grid.place(bounds.lower)
        upper = None if bounds.upper is None else self.grid.place(bounds.upper)
        low = self.grid.first if lower is None else lower + 1
        high = self.grid.last if upper is None else upper - 1
        # one place further is near; a third in the same direction means that the estimate misleads: twice as far each time
        step = self.reach * 2 ** max(0, self.moves - 2)
        if lower is not None and upper is not None:
            limit = (lower + upper) / 2 if limit is None else min(max(limit, lower), upper)
            step = min(step, max(1, (upper - lower) // 2))
        if upper is not None and (limit is None or upper - limit <= self.reach):
            wanted = upper - step
        elif lower is not None and (limit is None or limit - lower <= self.reach):
            wanted = lower + step
        elif limit is None:
            wanted = high
        else:
            wanted = round(limit + self.reach / 2)
            wanted = min(wanted, upper - step) if upper is not None and lower is None else wanted
        return min(max(wanted, low), high)
