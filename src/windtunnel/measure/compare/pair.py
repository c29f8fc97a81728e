"""One pair of runs: alternating, window by window, on the same cores; or one after the other."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.supervisor import Listener
from windtunnel.engine.turns import Place, Turns
from windtunnel.errors import UserError
from windtunnel.host.facts import Facts
from windtunnel.measure.compare.model import Change
from windtunnel.measure.execute import RunOutcome, execute, no_garbage_collection
from windtunnel.scenario import RunSpec
from windtunnel.scenario.wires import has, named

ALTERNATING = "alternated by window with another run on the same cores; parked time is not counted"


@dataclass(frozen=True)
class Pair:
    """Two runs that have not started yet, A's and B's. The last three fields are the same for all pairs."""

    specs: Sequence[RunSpec]
    runs: Sequence[Path]
    order: Sequence[int]
    """0 is A, 1 is B."""

    interrupts: Interrupts
    listeners: Sequence[Listener]
    host: Facts

    def run(self, change: Change, announce: Callable[[str], None]) -> Iterator[tuple[int, RunOutcome]]:
        """Each side with its outcome, as soon as it is known. `announce` gets the side that runs now."""
        if change == "run":
            for side in self.order:
                announce(f"{'AB'[side]} runs")
                yield side, self._run(side, None)
            return
        announce("A and B run")
        with Turns() as turns, no_garbage_collection(), ThreadPoolExecutor(2) as pool:
            places = zip(self.order, (turns.first, turns.second), strict=True)
            running = [(side, pool.submit(self._by_turns, turns, side, place)) for side, place in places]
        for side, outcome in running:
            yield side, outcome.result()

    def _by_turns(self, turns: Turns, side: int, place: Place) -> RunOutcome:
        with turns.taking(place):
            return self._run(side, place)

    def _run(self, side: int, place: Place | None) -> RunOutcome:
        spec, listeners = self.specs[side], self.listeners
        if place:
            spec, listeners = replace(spec, notes=[*spec.notes, ALTERNATING]), [*listeners, place.line]
        return execute(spec, self.runs[side], self.interrupts, listeners, self.host, place)


def change_after(specs: Sequence[RunSpec], asked: Change | None) -> Change:
    """How often A and B alternate: as asked for, else after every window where the wires allow it.

    Raises UserError where they do not."""
    if asked == "run":
        return "run"
    kinds = {spec.scenario.wire.kind for spec in specs if not has(spec.scenario, "twice")}
    if asked == "window" and kinds:
        raise UserError(
            f'--alternate window: two runs cannot use the wire "{kinds.pop()}" at the same time',
            remedy=f"--alternate run, or wire.kind = {named('twice')}",
        )
    return "run" if kinds else "window"
