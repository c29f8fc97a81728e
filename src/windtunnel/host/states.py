"""Which runs may stand side by side: those of one state of the host. A difference between two states is the host's."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from windtunnel.host.levels import GAP, ONLY_ONE


class Placed(Protocol):
    """What has a state: a run, or one pass of something else that was timed."""

    @property
    def state(self) -> str | None:
        """Its name; None: not known."""

    @property
    def line_ns(self) -> float | None:
        """Round trip of a cache line between the CPUs of workers, or of a copy to the thread of a software copier; None: there is neither,
        or it is not known."""


P = TypeVar("P", bound=Placed)


@dataclass(frozen=True)
class Where:
    """A state by itself."""

    state: str | None = None
    line_ns: float | None = None


@dataclass(frozen=True)
class Group:
    """Blocks of one state."""

    state: str | None
    """Its name; None: no state is known of any block."""
    positions: list[int]
    """Of the blocks, ascending."""


def same(a: Placed, b: Placed) -> bool:
    """Whether both are of one state. One that is not known is the same as any other.

    A state from the time when the host had shown one level alone is told by its round trip. Records of version 5 may have a busy sibling
    in the name of their state, as in "one-l3, sibling busy"."""
    if a.state is None or b.state is None:
        return True
    (level_a, _, sibling_a), (level_b, _, sibling_b) = a.state.partition(", "), b.state.partition(", ")
    if sibling_a != sibling_b:
        return False
    if a.line_ns is None or b.line_ns is None:
        return True
    if ONLY_ONE not in level_a + level_b:
        return level_a == level_b
    return max(a.line_ns, b.line_ns) < GAP * min(a.line_ns, b.line_ns)


def groups(blocks: Sequence[Sequence[Placed]]) -> list[Group]:
    """The blocks, each of as many members, by the state that all members of a block share; the state with the most blocks first. A
    block whose members were in two states is in no group, nor is one with a member whose state is not known, unless nothing is known
    of any member at that place: its record is older, or another program left it."""
    told = [any(member.state is not None for member in column) for column in zip(*blocks, strict=True)]
    left, found = set(range(len(blocks))), []
    for example in _examples(member for block in blocks for member in block):
        positions = [
            n
            for n in sorted(left)
            if all(_is_of(example, member) for member, known in zip(blocks[n], told, strict=True) if known)
        ]
        if positions:
            found.append(Group(example.state, positions))
            left.difference_update(positions)
    return sorted(found, key=lambda group: -len(group.positions))


def sides(a: Sequence[P], b: Sequence[P]) -> list[tuple[str | None, list[P], list[P]]]:
    """Runs of two sides by state, where no order in time ties them: state, those of A, those of B; first the state of which the
    smaller side has most. A side of which no state is known has all its runs in each."""
    told = [any(each.state is not None for each in side) for side in (a, b)]
    found, left = [], [list(a), list(b)]
    for example in _examples([*a, *b]):
        ours, theirs = (
            [each for each in side if not known or _is_of(example, each)]
            for side, known in zip(left, told, strict=True)
        )
        found.append((example.state, ours, theirs))
        taken = {id(each) for side, known in zip((ours, theirs), told, strict=True) if known for each in side}
        left = [[each for each in side if id(each) not in taken] for side in left]
    return sorted(found, key=lambda group: (-min(len(group[1]), len(group[2])), -len(group[1]) - len(group[2])))


def words(state: str | None) -> str:
    """As in "one L3", for sentences."""
    if state is None:
        return "a state that is not known"
    return state.replace("-l3", " L3").replace("-", " ")


def counts(numbers: Sequence[tuple[str | None, int]], dropped: int, noun: str) -> str:
    """As in "9 pairs on one-l3, 4 on two-l3s, 2 dropped"; empty where no state is known and none is dropped."""
    parts = [f"{number} on {state}" if state else f"{number} of no known state" for state, number in numbers]
    if not parts or (not dropped and not any(state for state, _ in numbers)):
        return f"{dropped} {noun} dropped" if dropped else ""
    count, _, rest = parts[0].partition(" ")
    return ", ".join([f"{count} {noun if count != '1' else noun.removesuffix('s')} {rest}", *parts[1:]]) + (
        f", {dropped} dropped" if dropped else ""
    )


def _is_of(example: Placed, member: Placed) -> bool:
    return member.state is not None and same(example, member)


def _examples(placed: Iterable[Placed]) -> list[Placed]:
    """One of each state; first those that say most of it, so that one with less joins them."""
    known = sorted(
        (each for each in placed if each.state is not None),
        key=lambda each: (each.line_ns is None, ONLY_ONE in (each.state or "")),
    )
    found: list[Placed] = []
    for each in known:
        if not any(same(each, other) for other in found):
            found.append(each)
    return found or [Where()]
