"""When a study will have ended."""

import time

from windtunnel.measure.study.design import Design
from windtunnel.measure.study.directory import Slot

BETWEEN_S = 0.4
"""Assumed overhead of a run, until the first runs have shown it."""


class Forecast:
    """Forecast of the end of a study, from the planned runs and the duration of finished ones."""

    def __init__(self, design: Design, at_once: int = 1):
        """`at_once`: testbeds on which runs take place."""
        self._at_once = max(1, at_once)
        self.seconds = {point.number: point.seconds for point in design.running}
        repeats = design.definition.repeats
        self.runs = repeats * len(design.running)
        self.planned_s = repeats * sum(self.seconds.values())
        self.done = self.ran = 0
        self.between_s = 0.0
        self._began: dict[str, float] = {}

    def begins(self, slot: Slot) -> None:
        self._began[slot.name] = time.monotonic()

    def run_ended(self, slot: Slot, ran_now: bool) -> None:
        planned = self.seconds[slot.point.number]
        if slot.attempt > 1:  # was not foreseen
            self.runs += 1
        else:
            self.planned_s -= planned
        self.done += 1
        if ran_now:
            self.ran += 1
            self.between_s += time.monotonic() - self._began[slot.name] - planned

    @property
    def left_s(self) -> float:
        between = self.between_s / self.ran if self.ran else BETWEEN_S
        return max(0.0, self.planned_s + (self.runs - self.done) * between) / self._at_once
