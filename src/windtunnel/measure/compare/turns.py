"""Flies two scenarios in turn: pairs, each in an order that a coin decides, so that whatever the host does meets both alike."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.supervisor import Listener
from windtunnel.host import facts
from windtunnel.measure.compare.model import Change, Flown, Stopped
from windtunnel.measure.compare.pair import Pair, change_after
from windtunnel.measure.flight import new_directory
from windtunnel.runs.writer import make_directory
from windtunnel.scenario import Flight, here, load, resolve

PAIRS = 15
START_S = 1.5
"""What a flight takes beside its windows, until there is one to look at."""
HOPELESS = 5
"""Flights of one side; if all of them are invalid no more are flown."""
MOST_FLOWN = 2
"""Times the pairs that are asked for: a pair with an invalid run is flown again, up to so many in all."""


@dataclass(frozen=True)
class Contestant:
    """One of the two scenarios. Raises UserError from `flight` as `windtunnel run` would."""

    file: Path
    sets: Sequence[str]

    def flight(self) -> Flight:
        return resolve(load(self.file, list(self.sets)), here())


@dataclass(frozen=True)
class Turn:
    """A flight, or two by turns, about to start."""

    flying: str
    """"A flies", "B flies" or "A and B fly"."""
    done_pairs: int
    """Valid ones."""
    pairs: int
    done: float
    """Share of all that will be flown."""
    left_s: float


@dataclass
class _Turns:
    """The state of the flights."""

    pairs: int
    within_s: float | None
    seed: int
    change: Change
    began: float = field(default_factory=time.monotonic)
    verdicts: tuple[list[bool], list[bool]] = field(default_factory=lambda: ([], []))

    @property
    def flown(self) -> int:
        return sum(map(len, self.verdicts))

    @property
    def valid_pairs(self) -> int:
        return sum(all(pair) for pair in zip(*self.verdicts, strict=False))

    def flight_s(self, planned_s: float) -> float:
        """Length of a flight, as far as it is known."""
        return (time.monotonic() - self.began) / self.flown if self.flown else planned_s

    def left_s(self, planned_s: float) -> float:
        missing = self.pairs - self.valid_pairs - self.flown % 2 / 2
        left = 2 * missing * self.flight_s(planned_s)
        return left if self.within_s is None else min(left, self.within_s - (time.monotonic() - self.began))

    def out_of_time(self, planned_s: float) -> bool:
        """Whether another pair would end too late. There is always one."""
        spent = time.monotonic() - self.began
        return self.within_s is not None and self.flown > 0 and spent + 2 * self.flight_s(planned_s) > self.within_s

    def turn(self, flying: str, planned_s: float) -> Turn:
        spent, left = time.monotonic() - self.began, self.left_s(planned_s)
        return Turn(flying, self.valid_pairs, self.pairs, spent / (spent + left) if left > 0 else 1.0, left)

    def ended(self, why: Stopped) -> Flown:
        return Flown(pairs_wanted=self.pairs, pairs=self.valid_pairs, seed=self.seed, change=self.change, stopped=why)

    @property
    def hopeless(self) -> bool:
        return any(len(side) >= HOPELESS and not any(side) for side in self.verdicts)


def directory_for(a: Path, b: Path) -> Path:
    """Where the runs go when nobody says: runs/<UTC time>-<a>-against-<b>."""
    return new_directory(f"{a.stem}-against-{b.stem}")


def fly_in_turn(
    a: Contestant,
    b: Contestant,
    directory: Path,
    interrupts: Interrupts,
    *,
    pairs: int = PAIRS,
    within_s: float | None = None,
    seed: int = 1,
    change: Change | None = None,
    announce: Callable[[Turn], None] = lambda turn: None,
    listeners: Sequence[Listener] = (),
) -> Flown:
    """Flies into the new `directory`: a/01, b/01, a/02 ... What has flown stays whatever happens. `change` None: after every window
    where that is possible.

    Raises UserError for scenarios that cannot fly, and where a run cannot be kept.
    """
    flights = [contestant.flight() for contestant in (a, b)]
    planned_s = sum(map(_length_s, flights)) / 2
    change = change_after(flights, change)
    make_directory(directory)
    host, coin = facts.collect(), random.Random(seed)
    turns = _Turns(pairs, within_s, seed, change)
    width = max(2, len(str(pairs)))
    for pair in range(1, MOST_FLOWN * pairs + 1):
        if turns.valid_pairs == pairs:
            break
        if turns.out_of_time(planned_s):
            return turns.ended("time")
        order = (0, 1) if coin.random() < 0.5 else (1, 0)
        runs = [directory / side / f"{pair:0{width}}" for side in "ab"]
        flights = [
            contestant.flight() for contestant in (a, b)
        ]  # anew: names of their own, and what the host has free by now
        both = Pair(flights, runs, order, interrupts, listeners, host)
        for side, landing in both.fly(change, lambda flying: announce(turns.turn(flying, planned_s))):
            if landing.run is None and landing.unkept:
                raise landing.unkept
            turns.verdicts[side].append(landing.verdict.valid)
            if landing.interrupted:
                return turns.ended("interrupted")
            if turns.hopeless:
                return turns.ended("failed")
    return turns.ended("all flown" if turns.valid_pairs == pairs else "failed")


def _length_s(flight: Flight) -> float:
    phases = flight.plans[0].phases
    return (phases.warmup_ns + phases.duration_ns) / 1e9 + START_S
