"""Runs a study: finished runs stay, the others run in the drawn order; invalid ones, then those that missed the state of the host, are
repeated at the end."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.lines import AnyLine
from windtunnel.errors import UserError
from windtunnel.host import facts
from windtunnel.live.process import ANNOUNCEMENT
from windtunnel.measure.execute import execute
from windtunnel.measure.study.columns import rows_of
from windtunnel.measure.study.design import Design
from windtunnel.measure.study.directory import RUNS, Slot, abort, finished, is_cut_short
from windtunnel.measure.study.forecast import Forecast
from windtunnel.measure.study.record import StudyRecord
from windtunnel.measure.study.states import budget, to_repeat
from windtunnel.runs import Run, Verdict
from windtunnel.scenario import HostView, resolve


class Watcher(Protocol):
    """Gets the progress of a study."""

    def begins(self, slot: Slot) -> None: ...

    def line(self, name: str, line: AnyLine, raw: str) -> None: ...

    def run_ended(self, slot: Slot, verdict: Verdict, rows: list[dict[str, Any]], ran_now: bool) -> None:
        """`ran_now`: in this process, not in an earlier one."""


class Silent:
    """A watcher that does nothing."""

    def begins(self, slot: Slot) -> None: ...

    def line(self, name: str, line: AnyLine, raw: str) -> None: ...

    def run_ended(self, slot: Slot, verdict: Verdict, rows: list[dict[str, Any]], ran_now: bool) -> None: ...


@dataclass
class Progress:
    """The rows of each finished run, by point and repeat: of its last attempt, unless an earlier one alone is valid."""

    rows: dict[tuple[int, int], list[dict[str, Any]]]
    attempts: Counter[tuple[int, int]] = field(default_factory=Counter)
    for_state: set[tuple[int, int]] = field(default_factory=set)
    """Runs that were repeated because they missed the state of the host that most points share."""
    interrupted: bool = False

    def invalid(self, point: int, repeat: int) -> bool:
        return not self.rows[point, repeat][0]["valid"]

    def note(self, slot: Slot, rows: list[dict[str, Any]]) -> None:
        """What an attempt gave."""
        key = slot.point.number, slot.repeat
        self.attempts[key] += 1
        if key not in self.rows or rows[0]["valid"] or self.invalid(*key):
            self.rows[key] = rows

    def all_rows(self) -> list[dict[str, Any]]:
        """In the order of points and repeats."""
        return [row for key in sorted(self.rows) for row in self.rows[key]]


@dataclass(frozen=True)
class Conductor:
    """A running study: its directory, definition and watcher."""

    path: Path
    design: Design
    record: StudyRecord
    view: HostView
    host: facts.Facts
    interrupts: Interrupts
    watcher: Watcher
    include_invalid: bool = False
    """Rejected metrics are in the rows of invalid runs. They run again all the same."""

    def run(self) -> Progress:
        """Runs what is missing in the study's directory. Ends early, in good order, with the first interrupt.

        Raises UserError where a run cannot be kept.
        """
        progress, forecast = Progress({}), Forecast(self.design)
        (self.path / RUNS).mkdir(exist_ok=True)
        for slot in slots(self.record, progress):
            forecast.begins(slot)
            run = finished(self.path, slot)
            ran_now = run is None
            if run is None:
                run = self._run(slot)
            if run is None:
                progress.interrupted = True
                break
            rows = rows_of(run, _place(slot), self.include_invalid)
            progress.note(slot, rows)
            self.watcher.run_ended(slot, run.record.verdict, rows, ran_now)
            forecast.run_ended(slot, ran_now)
            ANNOUNCEMENT.progress(forecast.done, forecast.runs, "runs", forecast.left_s)
        return progress

    def _run(self, slot: Slot) -> Run | None:
        """One run; None where it was stopped, and lies in aborted/. Raises UserError where it could not be kept."""
        if self.interrupts.count:
            return None
        self.watcher.begins(slot)
        # Planned anew: each run's engines have names of their own.
        spec = resolve(self.design.points[slot.point.number - 1].scenario, self.view)
        directory = self.path / RUNS / slot.name
        outcome = execute(spec, directory, self.interrupts, [self.watcher.line], self.host)
        run = outcome.kept_run()
        if not is_cut_short(run):
            return run
        abort(self.path, directory)
        if not outcome.interrupted:
            reasons = "; ".join(outcome.verdict.reasons)
            raise UserError(reasons, remedy="free some space, and go on with the same command")
        return None


def slots(record: StudyRecord, progress: Progress) -> Iterator[Slot]:
    """Every run in its turn; then those again of which the last attempt was invalid, as long as there are attempts left; then those that
    missed the state of the host that most points share by then, as often as the study allows in all. A study that goes on comes to the
    same slots: they follow from the runs before them."""
    turns = [(record.point(number), repeat) for repeat, block in enumerate(record.order, 1) for number in block]
    yield from (Slot(point, repeat) for point, repeat in turns)
    for attempt in range(2, record.retries + 2):
        for point, repeat in turns:
            if progress.invalid(point.number, repeat):
                yield Slot(point, repeat, attempt)
    yield from _state_slots(record, progress)


def _state_slots(record: StudyRecord, progress: Progress) -> Iterator[Slot]:
    turns = [(number, repeat) for repeat, block in enumerate(record.order, 1) for number in block]
    left = budget(record)
    while chosen := to_repeat(record, progress.all_rows(), turns)[:left]:
        left -= len(chosen)
        for number, repeat in chosen:
            progress.for_state.add((number, repeat))
            yield Slot(record.point(number), repeat, progress.attempts[number, repeat] + 1)


def _place(slot: Slot) -> dict[str, Any]:
    place = {"point": slot.point.number, "repeat": slot.repeat, "attempt": slot.attempt}
    return place | {"directory": f"{RUNS}/{slot.name}"} | slot.point.cells
