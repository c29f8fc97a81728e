"""Looks at many, some at a time: a tenant may have any number of threads and processes, and nobody is served while they are looked at.

Each kind of look has a budget of time. Counts alone do not bound it: to move one thread between cgroups takes microseconds, and hundreds of
milliseconds while many processes are forked (cgroup_threadgroup_rwsem waits for all of them).
"""

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
LOOKS_S, CHANGES_S = 0.04, 0.02
"""At most at once: for looks at tenants, and for each kind of change of threads that nobody waits for. After it nothing is done for as long."""
YOUNG_S = 0.1
"""What a tenant has started is neither taken in nor let go before, and what that has started is not looked for: those that fork and end at once
could be followed for ever, and to move one takes longer than it lives."""
MOST = 128
"""Of one kind at once, however fast they are."""


class Budget:
    """`seconds` of time at once, and afterwards a rest for as long as it took, which may have been longer: one step is not cut short."""

    def __init__(self, seconds: float):
        self._seconds = self._left = seconds
        self._ended = -math.inf

    def some(self, many: Iterable[T], most: int) -> Iterator[T]:
        """The first of them, while there is time, and `most` at most; none during the rest. What is done with each counts, until the next one
        is asked for."""
        began = time.monotonic()
        self._left = min(self._seconds, self._left + began - self._ended)
        try:
            if self._left > 0:
                for one in islice(many, most):
                    yield one
                    if time.monotonic() - began >= self._left:
                        break
        finally:
            self._ended = time.monotonic()
            self._left -= self._ended - began


@dataclass(frozen=True)
class Budgets:
    """Of one daemon. Without arguments: no bounds, for whoever serves nobody meanwhile."""

    looks: Budget = field(default_factory=lambda: Budget(math.inf))
    """Looks at tenants: their processes and threads."""
    strays: Budget = field(default_factory=lambda: Budget(math.inf))
    """Threads that left their CPUs."""
    released: Budget = field(default_factory=lambda: Budget(math.inf))
    """Threads in a cgroup of ours that are nobody's."""
    forked: Budget = field(default_factory=lambda: Budget(math.inf))
    """Threads that may be heirs of one that was put back."""
    taken_in_s: float = math.inf
    """For new threads: of `Pace`."""
    young_s: float = 0.0
    """Threads that began so short ago are not let go yet."""


def of_a_daemon() -> Budgets:
    """An upkeep takes a tenth of a second, if no single step takes longer."""
    strays, released, forked = (Budget(CHANGES_S) for _ in range(3))
    return Budgets(Budget(LOOKS_S), strays, released, forked, LOOKS_S, YOUNG_S)


class Rota:
    """Whose turn it is: one of each owner after another, and of each the one behind the last."""

    def __init__(self) -> None:
        self._owner = ""
        self._last: dict[str, int] = {}

    def in_turn(self, of: Mapping[str, Iterable[int]]) -> Iterator[tuple[str, int]]:
        """Owner and number of each, once; the next call goes on behind the last one that was taken."""
        self._last = {owner: last for owner, last in self._last.items() if owner in of}
        owners = sorted(of, key=lambda owner: (owner <= self._owner, owner))
        queues = {owner: iter(self._behind_the_last(owner, of[owner])) for owner in owners}
        while queues:
            for owner in list(queues):
                number = next(queues[owner], None)
                if number is None:
                    del queues[owner]
                    continue
                self._owner, self._last[owner] = owner, number
                yield owner, number

    def _behind_the_last(self, owner: str, numbers: Iterable[int]) -> list[int]:
        last = self._last.get(owner, -1)
        return sorted(numbers, key=lambda number: (number <= last, number))


class Pace:
    """How many new ones are taken in at once: `most`, or as many as fit into `seconds` by what the last ones took."""

    def __init__(self, most: int, seconds: float):
        self._most, self._seconds = most, seconds
        self.room = most

    def took(self, count: int, seconds: float) -> None:
        """So many were taken in, in that time."""
        if count and seconds > self._seconds:
            self.room = max(1, min(self._most, int(count * self._seconds / seconds)))
        elif count:
            self.room = min(self._most, 2 * self.room)
