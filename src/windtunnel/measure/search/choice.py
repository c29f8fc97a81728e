"""The next load for one goal. RFC 9971 leaves the choice free (section 4.1.3): it changes what a search costs, not what it means.

Two loads are wanted: the closest ones on the grid around the estimated limit. They are looked for with short trials first, then
measured until the goal itself is decided at both.
"""

import math
from dataclasses import replace

from windtunnel.measure.search.bounds import Bounds, Trials
from windtunnel.measure.search.estimate import estimate
from windtunnel.measure.search.goals import Goal
from windtunnel.measure.search.grid import Grid

MORE = 4.6
"""Times the trials' time at a load from stage to stage, at the most."""

import os
MORE=float(os.environ.get('MORE',4.6))
DBL=int(os.environ.get('DBL',1))
def stages(goal: Goal) -> list[Goal]:
    """The goal, and before it coarser ones that lead to it: from one trial of the initial duration at a load, in growing sums."""
    first = goal.initial_trial_duration_s
    count = max(0, math.ceil(math.log(goal.duration_sum_s / first) / math.log(MORE) - 1e-9))
    times = [first * (goal.duration_sum_s / first) ** (number / count) for number in range(count)]
    coarse = [replace(goal, final_trial_duration_s=min(s, goal.final_trial_duration_s), duration_sum_s=s) for s in times]
    return [*coarse, goal]


class Chooser:
    """Proposes trials for one goal until it has both bounds, or one that is as good as the limits allow."""

    def __init__(self, goal: Goal, grid: Grid):
        self.goal, self.grid, self.stages = goal, grid, stages(goal)
        self.reach = grid.within(goal.width)
        self.moves: dict[Goal, tuple[Bounds, int, str | None]] = {}
        """By stage: its bounds, the steps to go beyond them, and the way that they moved last."""

    def next(self, trials: Trials) -> tuple[float, float] | None:
        """Load (per second) and duration (seconds) of the next trial; None when there is nothing left to find out.

        A stage whose bounds later trials have overturned is taken up again: exploring is cheap there.
        """
        everything = [trial for load in trials.by_load.values() for trial in load]
        for stage in self.stages:
            bounds = trials.bounds(stage)
            if not self._is_done(stage, bounds):
                limit = estimate(self.goal, everything, bounds.upper)
                return self.grid.load(self._place(stage, bounds, limit)), stage.final_trial_duration_s
        return None

    def _is_done(self, stage: Goal, bounds: Bounds) -> bool:
        if bounds.lower == self.grid.greatest or bounds.upper == self.grid.least:
            return True
        return bounds.width is not None and bounds.width <= stage.width

    def _place(self, stage: Goal, bounds: Bounds, limit: float | None) -> int:
        """On the grid, strictly between the bounds."""
        lower, upper = self.grid.place(bounds.lower), self.grid.place(bounds.upper)
        step = self._step(stage, bounds)
        if lower is None and upper is None:
            return self.grid.last if limit is None else self._below(self.grid.position(limit))
        if lower is not None and upper is not None:
            position = (lower + upper) / 2 if limit is None else min(max(self.grid.position(limit), lower), upper)
            step = min(step, max(1, (upper - lower) // 2))
        else:
            position = (lower if upper is None else upper) if limit is None else self.grid.position(limit)
        if lower is not None and position - lower <= self.reach:
            wanted = lower + step
        elif upper is not None and upper - position <= self.reach:
            wanted = upper - step
        else:
            wanted = self._below(position)
            if lower is None: wanted = min(wanted, upper - step)
        low = self.grid.first if lower is None else lower + 1
        high = self.grid.last if upper is None else upper - 1
        return min(max(wanted, low), high)

    def _below(self, position: float) -> int:
        """The lower of two places a reach apart, with the position in their midst."""
        return min(max(round(position - self.reach / 2), self.grid.first), self.grid.last)

    def _step(self, stage: Goal, bounds: Bounds) -> int:
        before, step, way = self.moves.get(stage, (bounds, self.reach, None))
        if before != bounds:
            moved = "up" if before.upper == bounds.upper else "down"
            step, way = (2 * step if moved == way and (DBL or stage is not self.goal) else self.reach), moved
        self.moves[stage] = bounds, step, way
        return step
