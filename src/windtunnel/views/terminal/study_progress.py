"""Progress of a study: a bar with the remaining time on a terminal, otherwise a line for each run."""

import time
from typing import TYPE_CHECKING, Any, Self

from rich.progress import BarColumn, Progress, TextColumn

from windtunnel.views import study_metrics

if TYPE_CHECKING:
    from rich.console import Console

    from windtunnel.engine.interrupts import Interrupts
    from windtunnel.engine.lines import AnyLine
    from windtunnel.measure.study.design import Design
    from windtunnel.measure.study.directory import Slot
    from windtunnel.runs import Verdict

BETWEEN_S = 0.4
"""Assumed overhead of a run, until the first runs have shown it."""
REDRAWS_PER_S = 4


def in_words(seconds: float) -> str:
    """Whole units: 42 s, 12 min, 3 h 05 min."""
    minutes = round(seconds / 60)
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"


class Forecast:
    """Forecast of the end of a study, from the planned runs and the duration of finished ones."""

    def __init__(self, design: "Design", at_once: int = 1):
        """`at_once`: testbeds on which runs take place."""
        self._at_once = at_once
        self.seconds = {point.number: point.seconds for point in design.running}
        repeats = design.definition.repeats
        self.runs = repeats * len(design.running)
        self.planned_s = repeats * sum(self.seconds.values())
        self.done = self.ran = 0
        self.between_s = 0.0
        self._began: dict[str, float] = {}

    def begins(self, slot: "Slot") -> None:
        self._began[slot.name] = time.monotonic()

    def run_ended(self, slot: "Slot", ran_now: bool) -> None:
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


class Lines:
    """One line a run, at once."""

    def __init__(self, design: "Design", console: "Console", at_once: int = 1):
        self._forecast, self._console = Forecast(design, at_once), console
        self._named = design.definition.metrics
        self._width = max(len(point.name) for point in design.running)
        self._before = 0

    def begins(self, slot: "Slot") -> None:
        if self._before:
            self._say(f"{self._before} runs were finished before")
            self._before = 0
        self._forecast.begins(slot)

    def line(self, name: str, line: "AnyLine", raw: str) -> None: ...

    def run_ended(self, slot: "Slot", verdict: "Verdict", rows: list[dict[str, Any]], ran_now: bool) -> None:
        seen = self._forecast
        seen.run_ended(slot, ran_now)
        if not ran_now:
            self._before += 1
            return
        number = f"{seen.done:>{len(str(seen.runs))}} of {seen.runs}"
        self._say(
            f"{number}  {slot.name:<{self._width + 6}}  {outcome(verdict, rows, self._named)}  {in_words(seen.left_s)} to go"
        )

    def _say(self, text: str) -> None:
        self._console.out(text, highlight=False)
        self._console.file.flush()


class Bar:
    """Context manager: a bar for the study, and the phase of the current run."""

    def __init__(self, design: "Design", console: "Console", interrupts: "Interrupts", at_once: int = 1):
        self._forecast, self._interrupts = Forecast(design, at_once), interrupts
        self._named = design.definition.metrics
        self._progress = Progress(
            TextColumn("{task.completed:.0f} of {task.total:.0f}"),
            BarColumn(40),
            TextColumn("{task.fields[left]} to go", style="cyan"),
            TextColumn("{task.description}", markup=False),
            TextColumn("{task.fields[hint]}", style="dim"),
            console=console,
            refresh_per_second=REDRAWS_PER_S,
        )
        self._task = self._progress.add_task("", total=self._forecast.runs, left="", hint="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def begins(self, slot: "Slot") -> None:
        self._forecast.begins(slot)
        self._show(slot.name)

    def line(self, name: str, line: "AnyLine", raw: str) -> None:
        hints = {0: "Ctrl-C stops it, and the study", 1: "stopping; Ctrl-C again kills it"}
        self._progress.update(self._task, hint=hints.get(self._interrupts.count, "ending"))

    def run_ended(self, slot: "Slot", verdict: "Verdict", rows: list[dict[str, Any]], ran_now: bool) -> None:
        self._forecast.run_ended(slot, ran_now)
        self._show(slot.name)
        if ran_now and not verdict.valid:
            self._progress.console.print(f"{slot.name}  {outcome(verdict, rows, self._named)}", markup=False)

    def _show(self, name: str) -> None:
        seen = self._forecast
        self._progress.update(
            self._task, description=name, completed=seen.done, total=seen.runs, left=in_words(seen.left_s)
        )


def outcome(verdict: "Verdict", rows: list[dict[str, Any]], named: list[str]) -> str:
    """The metrics of a run, or why it is invalid."""
    if not verdict.valid:
        return f"invalid: {'; '.join(verdict.reasons)}"
    several, names = len(rows) > 1, study_metrics.chosen(named, rows)
    each = (f"{row['workload']} " * several + "  ".join(_pair(row, name) for name in names) for row in rows)
    return "  ".join(each)


def _pair(row: dict[str, Any], metric: str) -> str:
    return f"{metric} {study_metrics.text(metric, row[metric]):>9}"
