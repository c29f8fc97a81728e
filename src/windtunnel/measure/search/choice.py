"""The next load for one goal. RFC 9971 leaves the choice free (section 4.1.3): it changes the cost, not the meaning.

Two loads are wanted: places of the grid on both sides of the estimated limit, no further apart than the goal's
width. They are looked for with single short trials, then measured until the goal itself is decided at both. The
upper one goes first: its trials overload the device, and each says how much was carried, from which the place of the
lower one follows.
"""

import math
from dataclasses import replace

from windtunnel.measure.search.bounds import Bounds, Trials
from windtunnel.measure.search.estimate import estimate
from windtunnel.measure.search.goals import Goal
from windtunnel.measure.search.grid import Grid

PATIENCE = 2
"""Moves of the bounds in one direction until the estimate is held to mislead: then each step is twice the one before."""
ASTRAY = 3
"""Lower bounds of the goal in a row, each above the one before, after which the search returns to its first stage, in which
finding the way costs less. Not on the way down: there short trials were too kind, and would be again."""


def stages(goal: Goal) -> list[Goal]:
    """The goal, and before it coarser ones that lead to it, with trials of its initial duration: first one at a
    load, then, if the goal tolerates high-loss trials, as many as show that a single one was no fluke. Growing
    stages between these and the goal, as the reference has them, were tried and dropped: they cost more than they
    saved."""
    first = goal.initial_trial_duration_s
    sums = [first] if goal.exceed_ratio == 0 else [first, first / goal.exceed_ratio]
    coarse = [replace(goal, final_trial_duration_s=first, duration_sum_s=s) for s in sums if s < goal.duration_sum_s]
    return [*coarse, goal]


class Chooser:
    """Proposes trials for one goal until it has both bounds, or one that is as good as the limits allow."""

    def __init__(self, goal: Goal, grid: Grid):
        self.goal, self.grid = goal, grid
        self.stages = stages(goal)
        self.stage = 0
        """The one at work, by its number."""
        self.reach = grid.within(goal.width)
        """Places between the two loads."""
        self.asked: float | None = None
        self.way: str | None = None
        """Direction in which the asked loads moved the bounds, "up" or "down", and how often in a row."""
        self.moves = 0

    def next(self, trials: Trials) -> tuple[float, float] | None:
        """Load (per second) and duration (seconds) of the next trial; None when there is nothing left to find out."""
        while self._is_done(trials):
            if self.stage == len(self.stages) - 1:
                return None
            self._enter(self.stage + 1)
        bounds = self._bounds(trials, self.stage)
        self._follow(bounds)
        if self.stages[self.stage] is self.goal and self.way == "up" and self.moves == ASTRAY:
            self._enter(0)
            return self.next(trials)
        self.asked = self.grid.load(self._place(bounds, self._limit(trials, bounds)))
        return self.asked, self.stages[self.stage].final_trial_duration_s

    def _enter(self, stage: int) -> None:
        self.stage, self.asked, self.way, self.moves = stage, None, None, 0

    def _is_done(self, trials: Trials) -> bool:
        bounds = self._bounds(trials, self.stage)
        if bounds.lower == self.grid.greatest or bounds.upper == self.grid.least:
            return True
        return bounds.width is not None and bounds.width <= self.goal.width

    def _bounds(self, trials: Trials, stage: int) -> Bounds:
        """What the goal itself has decided, a coarse stage does not question."""
        decided = trials.bounds(self.goal)
        return decided if self.stages[stage] is self.goal else trials.bounds(self.stages[stage], decided)

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
        position = math.inf if load is None else self.grid.position(load)
        for stage in range(self.stage):
            coarse = self._bounds(trials, stage)
            if coarse.lower is not None:
                position = max(position, self.grid.place(coarse.lower) - self.reach)
            if coarse.upper is not None:
                above = self.reach if position < math.inf else -self.reach / 2
                position = min(position, self.grid.place(coarse.upper) + above)
        return position if position < math.inf else None

    def _place(self, bounds: Bounds, limit: float | None) -> int:
        """Between the bounds, without them."""
        lower = None if bounds.lower is None else self.grid.place(bounds.lower)
        upper = None if bounds.upper is None else self.grid.place(bounds.upper)
        low = self.grid.first if lower is None else lower + 1
        high = self.grid.last if upper is None else upper - 1
        step = self.reach * 2 ** max(0, self.moves - PATIENCE)
        if lower is not None and upper is not None:
            limit = (lower + upper) / 2 if limit is None else min(max(limit, lower), upper)
            step = min(step, max(1, (upper - lower) // 2))
        if upper is not None and (limit is None or upper - limit <= self.reach):
            place = upper - step
        elif lower is not None and (limit is None or limit - lower <= self.reach):
            place = lower + step
        elif limit is None:
            place = high
        else:
            place = round(limit + self.reach / 2)
            place = min(place, upper - step) if upper is not None and lower is None else place
        return int(min(max(place, low), high))
