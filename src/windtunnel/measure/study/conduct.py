"""Runs a study: finished runs stay, the others run in the drawn order; invalid ones, then those that missed the state of the host, are
repeated at the end."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.lines import AnyLine
from windtunnel.errors import UserError
from windtunnel.live.process import ANNOUNCEMENT
from windtunnel.measure.execute import RunOutcome
from windtunnel.measure.executor import Executor, Job
from windtunnel.measure.study.columns import rows_of
from windtunnel.measure.study.design import Design
from windtunnel.measure.study.directory import RUNS, Slot, abort, finished, is_cut_short, make_within
from windtunnel.measure.study.forecast import Forecast
from windtunnel.measure.study.record import StudyRecord
from windtunnel.measure.study.states import budget, to_repeat
from windtunnel.runs import Run, Verdict


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
        """All rows in the order of points and repeats."""
        return [row for key in sorted(self.rows) for row in self.rows[key]]


@dataclass(frozen=True)
class Conductor:
    """A running study: its directory, definition and watcher."""

    path: Path
    design: Design
    record: StudyRecord
    executor: Executor
    interrupts: Interrupts
    watcher: Watcher
    include_invalid: bool = False
    """Rejected metrics are in the rows of invalid runs. They run again nevertheless."""

    @cached_property
    def forecast(self) -> Forecast:
        return Forecast(self.design, len(self.executor.testbeds))

    def run(self) -> Progress:
        """Runs what is missing in the study's directory. Ends early, in good order, with the first interrupt.

        Raises UserError if a run cannot be kept.
        """
        progress = Progress({})
        make_within(self.path, RUNS)
        for slots in rounds(self.record, progress):
            due = [slot for slot in slots if not self._was_finished(slot, progress)]
            if self._run(due, progress) < len(due):
                progress.interrupted = True
                break
        return progress

    def _run(self, due: Sequence[Slot], progress: Progress) -> int:
        """Runs these slots, and says how many came to their end."""
        slots = {self.path / RUNS / slot.name: slot for slot in due}
        jobs = (self._job(slot, directory) for directory, slot in slots.items())

        def begins(job: Job) -> None:
            self.forecast.begins(slots[job.directories[0]])
            self.watcher.begins(slots[job.directories[0]])

        ended = 0
        for job, (outcome,) in self.executor.execute_jobs(jobs, self.interrupts, [self.watcher.line], begins):
            if run := self._kept(outcome, job.directories[0]):
                self._note(slots[job.directories[0]], run, progress, ran_now=True)
                ended += 1
        return ended

    def _was_finished(self, slot: Slot, progress: Progress) -> bool:
        run = finished(self.path, slot)
        if run is not None:
            self.executor.keep(self._group(slot), run.record.testbed)
            self._note(slot, run, progress, ran_now=False)
        return run is not None

    def _note(self, slot: Slot, run: Run, progress: Progress, ran_now: bool) -> None:
        rows = rows_of(run, _place(slot), self.include_invalid, self.record.counters)
        progress.note(slot, rows)
        self.watcher.run_ended(slot, run.record.verdict, rows, ran_now)
        self.forecast.run_ended(slot, ran_now)
        ANNOUNCEMENT.progress(self.forecast.done, self.forecast.runs, "runs", self.forecast.left_s)

    def _job(self, slot: Slot, directory: Path) -> Job:
        scenario = self.design.points[slot.point.number - 1].scenario
        return Job((scenario,), (directory,), group=self._group(slot), counters=tuple(self.record.counters))

    def _group(self, slot: Slot) -> int:
        """Runs of a point belong together; if the study is spread, those of a block."""
        return slot.repeat if self.executor.spread else slot.point.number

    def _kept(self, outcome: RunOutcome, directory: Path) -> Run | None:
        """None for a run that was stopped, and lies in aborted/. Raises UserError for one that could not be kept."""
        if outcome.run is None and outcome.interrupted:
            return None
        run = outcome.kept_run()
        if not is_cut_short(run):
            return run
        abort(self.path, directory)
        if not outcome.interrupted:
            reasons = "; ".join(outcome.verdict.reasons)
            raise UserError(reasons, remedy="free some space, and go on with the same command")
        return None


def rounds(record: StudyRecord, progress: Progress) -> Iterator[list[Slot]]:
    """Slots of which none depends on another of its round: every run; then those again of which the last attempt was invalid, as long as
    there are attempts left; then those that missed the state of the host that most points share by then, as often as the study allows in
    all. A study that goes on comes to the same rounds: they follow from the runs before them."""
    turns = [(record.point(number), repeat) for repeat, block in enumerate(record.order, 1) for number in block]
    yield [Slot(point, repeat) for point, repeat in turns]
    for attempt in range(2, record.retries + 2):
        yield [Slot(point, repeat, attempt) for point, repeat in turns if progress.invalid(point.number, repeat)]
    yield from _state_rounds(record, progress)


def _state_rounds(record: StudyRecord, progress: Progress) -> Iterator[list[Slot]]:
    turns = [(number, repeat) for repeat, block in enumerate(record.order, 1) for number in block]
    left = budget(record)
    while chosen := to_repeat(record, progress.all_rows(), turns)[:left]:
        left -= len(chosen)
        progress.for_state.update(chosen)
        yield [Slot(record.point(n), repeat, progress.attempts[n, repeat] + 1) for n, repeat in chosen]


def _place(slot: Slot) -> dict[str, Any]:
    place = {"point": slot.point.number, "repeat": slot.repeat, "attempt": slot.attempt}
    return place | {"directory": f"{RUNS}/{slot.name}"} | slot.point.cells
