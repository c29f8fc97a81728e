"""Flying a study: what has landed stays, the rest flies in the order that was drawn, invalid runs once more at the end."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.lines import AnyLine
from windtunnel.errors import UserError
from windtunnel.host import facts
from windtunnel.measure.flight import fly
from windtunnel.measure.study.columns import rows_of
from windtunnel.measure.study.design import Design
from windtunnel.measure.study.directory import FLIGHTS, Slot, abort, is_cut_short, landed
from windtunnel.measure.study.record import StudyRecord
from windtunnel.runs import Run, Verdict
from windtunnel.scenario import HostView, resolve


class Watcher(Protocol):
    """Somebody who is told how the study goes."""

    def begins(self, slot: Slot) -> None: ...

    def line(self, name: str, line: AnyLine, raw: str) -> None: ...

    def landed(self, slot: Slot, verdict: Verdict, rows: list[dict[str, Any]], flown: bool) -> None:
        """`flown`: now, and not by a process before."""


class Silent:
    """A watcher that says nothing."""

    def begins(self, slot: Slot) -> None: ...

    def line(self, name: str, line: AnyLine, raw: str) -> None: ...

    def landed(self, slot: Slot, verdict: Verdict, rows: list[dict[str, Any]], flown: bool) -> None: ...


@dataclass
class Progress:
    """What has landed: the rows of the last attempt at each flight, by point and repeat."""

    rows: dict[tuple[int, int], list[dict[str, Any]]]
    interrupted: bool = False

    def invalid(self, point: int, repeat: int) -> bool:
        return not self.rows[point, repeat][0]["valid"]

    def all_rows(self) -> list[dict[str, Any]]:
        """In the order of points and repeats."""
        return [row for key in sorted(self.rows) for row in self.rows[key]]


@dataclass(frozen=True)
class Conductor:
    """A study that flies: where it lies, what it is, and who is told."""

    path: Path
    design: Design
    record: StudyRecord
    view: HostView
    host: facts.Facts
    interrupts: Interrupts
    watcher: Watcher

    def fly(self) -> Progress:
        """Flies what is missing in the study's directory. Ends early, in good order, with the first interrupt.

        Raises UserError where a run cannot be kept.
        """
        progress = Progress({})
        (self.path / FLIGHTS).mkdir(exist_ok=True)
        for slot in slots(self.record, progress):
            run = landed(self.path, slot)
            flown = run is None
            if flown:
                run = self._fly(slot)
            if run is None:
                progress.interrupted = True
                break
            rows = rows_of(run, _place(slot))
            progress.rows[slot.point.number, slot.repeat] = rows
            self.watcher.landed(slot, run.record.verdict, rows, flown)
        return progress

    def _fly(self, slot: Slot) -> Run | None:
        """One flight; None where it was stopped, and lies in aborted/. Raises UserError where it could not be kept."""
        if self.interrupts.count:
            return None
        self.watcher.begins(slot)
        # Planned anew: each flight's engines have names of their own.
        flight = resolve(self.design.points[slot.point.number - 1].scenario, self.view)
        directory = self.path / FLIGHTS / slot.name
        landing = fly(flight, directory, self.interrupts, [self.watcher.line], self.host)
        if landing.run is None:
            raise landing.unkept
        if not is_cut_short(landing.run):
            return landing.run
        abort(self.path, slot)
        if not landing.interrupted:
            reasons = "; ".join(landing.verdict.reasons)
            raise UserError(reasons, remedy="free some space, and go on with the same command")
        return None


def slots(record: StudyRecord, progress: Progress) -> Iterator[Slot]:
    """Every flight in its turn; then those again of which the last attempt was invalid, as long as there are attempts left."""
    turns = [(record.point(number), repeat) for repeat, block in enumerate(record.order, 1) for number in block]
    yield from (Slot(point, repeat) for point, repeat in turns)
    for attempt in range(2, record.retries + 2):
        for point, repeat in turns:
            if progress.invalid(point.number, repeat):
                yield Slot(point, repeat, attempt)


def _place(slot: Slot) -> dict[str, Any]:
    place = {"point": slot.point.number, "repeat": slot.repeat, "attempt": slot.attempt}
    return place | {"directory": f"{FLIGHTS}/{slot.name}"} | slot.point.cells
