"""Progress of a study: a bar with the remaining time on a terminal, otherwise a line for each run."""

from typing import TYPE_CHECKING, Any, Self

from rich.progress import BarColumn, Progress, TextColumn

from windtunnel.measure.study.forecast import Forecast
from windtunnel.results import study_metrics

if TYPE_CHECKING:
    from rich.console import Console

    from windtunnel.engine.interrupts import Interrupts
    from windtunnel.engine.lines import AnyLine
    from windtunnel.measure.study.design import Design
    from windtunnel.measure.study.directory import Slot
    from windtunnel.runs import Verdict

REDRAWS_PER_S = 4


def in_words(seconds: float) -> str:
    """Whole units: 42 s, 12 min, 3 h 05 min."""
    minutes = round(seconds / 60)
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"


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
        self._console.out(text)
        self._console.file.flush()


class Bar:
    """Context manager: a bar for the study, and the phase of the current run."""

    def __init__(self, design: "Design", console: "Console", interrupts: "Interrupts", at_once: int = 1):
        self._forecast, self._interrupts = Forecast(design, at_once), interrupts
        self._named = design.definition.metrics
        self._progress = Progress(
            TextColumn("{task.completed:.0f} of {task.total:.0f}", markup=False),
            BarColumn(40),
            TextColumn("{task.fields[left]} to go", style="cyan", markup=False),
            TextColumn("{task.description}", markup=False),
            TextColumn("{task.fields[hint]}", style="dim", markup=False),
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
            self._progress.console.print(f"{slot.name}  {outcome(verdict, rows, self._named)}")

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
