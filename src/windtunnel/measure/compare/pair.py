"""One pair of flights: by turns, window by window, on the same cores; or one after the other."""

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
from windtunnel.measure.flight import Landing, fly, uncollected
from windtunnel.scenario import Flight

BY_TURNS = "by turns with another flight on the same cores, a window each; the time between its turns is in no figure"
TWICE = ("ring", "null", "pcap")
"""Wires that two flights can have at once, because nothing outside their engines is on them."""


@dataclass(frozen=True)
class Pair:
    """Two flights that have not flown yet, A's and B's; what is the same in all pairs stands in the lower half."""

    flights: Sequence[Flight]
    runs: Sequence[Path]
    order: Sequence[int]
    """0 is A, 1 is B."""

    interrupts: Interrupts
    listeners: Sequence[Listener]
    host: Facts

    def fly(self, change: Change, announce: Callable[[str], None]) -> Iterator[tuple[int, Landing]]:
        """Each side with its landing, as soon as it is known. `announce` gets who flies now."""
        if change == "flight":
            for side in self.order:
                announce(f"{'AB'[side]} flies")
                yield side, self._fly(side, None)
            return
        announce("A and B fly")
        with Turns() as turns, uncollected(), ThreadPoolExecutor(2) as pool:
            places = zip(self.order, (turns.first, turns.second), strict=True)
            flying = [(side, pool.submit(self._by_turns, turns, side, place)) for side, place in places]
        for side, landing in flying:
            yield side, landing.result()

    def _by_turns(self, turns: Turns, side: int, place: Place) -> Landing:
        with turns.taking(place):
            return self._fly(side, place)

    def _fly(self, side: int, place: Place | None) -> Landing:
        flight, listeners = self.flights[side], self.listeners
        if place:
            flight, listeners = replace(flight, notes=[*flight.notes, BY_TURNS]), [*listeners, place.line]
        return fly(flight, self.runs[side], self.interrupts, listeners, self.host, place)


def change_after(flights: Sequence[Flight], asked: Change | None) -> Change:
    """What was asked for, else after every window where the flights allow it. Raises UserError where they do not."""
    if asked == "flight":
        return "flight"
    kinds = {flight.scenario.wire.kind for flight in flights} - set(TWICE)
    if asked == "window" and kinds:
        raise UserError(
            f'--change window: two flights cannot have the wire "{kinds.pop()}" at once',
            remedy=f"--change flight, or one of the wires {', '.join(TWICE)}",
        )
    return "flight" if kinds else "window"
