"""Which CPU a lane turns on.

Longest processing time first (Graham 1969) for who has no CPU yet: the heaviest lane goes to the CPU with the least weight. Who
has one stays, unless moving one lane from the fullest CPU to the emptiest, or swapping two of them, takes at least MOVE_GAIN off the
fuller of both: a move costs a tenant some 20 us, and an even load is worth that only when it is more even by something. Deterministic.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MOVE_GAIN = 8
"""In weight: 1/32 of a CPU."""

Key = tuple[str, int]
"""A tenant's name and the number of its lane."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A part of a tenant that runs on one CPU."""

    key: Key
    weight: int


def place(lanes: Sequence[Lane], cpus: Sequence[int], previous: Mapping[Key, int]) -> dict[Key, int]:
    """CPU of each lane. `previous` says where they were; CPUs that are not in `cpus` any more do not count."""
    board = _Board(cpus)
    loose = []
    for lane in sorted(lanes, key=lambda lane: (-lane.weight, lane.key)):
        cpu = previous.get(lane.key)
        if cpu in board.on:
            board.put(lane, cpu)
        else:
            loose.append(lane)
    for lane in loose:
        board.put(lane, board.roomiest(lane))
    if len(cpus) > 1:
        while board.improve():
            pass
    return {lane.key: cpu for cpu, here in board.on.items() for lane in here}


class _Board:
    """The lanes on each CPU, and their weights together."""

    def __init__(self, cpus: Sequence[int]):
        self.on: dict[int, list[Lane]] = {cpu: [] for cpu in cpus}
        self.load = dict.fromkeys(cpus, 0)

    def put(self, lane: Lane, cpu: int) -> None:
        self.on[cpu].append(lane)
        self.load[cpu] += lane.weight

    def take(self, lane: Lane, cpu: int) -> None:
        self.on[cpu].remove(lane)
        self.load[cpu] -= lane.weight

    def roomiest(self, lane: Lane) -> int:
        """The least loaded CPU; among equals, that with the fewest lanes of the same tenant, then the first."""
        return min(self.on, key=lambda cpu: (self.load[cpu], sum(own.key[0] == lane.key[0] for own in self.on[cpu])))

    def improve(self) -> bool:
        """Makes the best move or swap between the fullest and the emptiest CPU, if there is one worth it."""
        full, empty = max(self.on, key=self.load.__getitem__), min(self.on, key=self.load.__getitem__)
        space = self.load[full] - self.load[empty]
        best: tuple[int, Lane, Lane | None] | None = None
        for lane in self.on[full]:
            for other in [None, *self.on[empty]]:
                moved = lane.weight - (other.weight if other else 0)
                gain = min(moved, space - moved)
                if gain >= MOVE_GAIN and (best is None or gain > best[0]):
                    best = (gain, lane, other)
        if best is None:
            return False
        _, lane, other = best
        self.take(lane, full)
        self.put(lane, empty)
        if other:
            self.take(other, empty)
            self.put(other, full)
        return True
