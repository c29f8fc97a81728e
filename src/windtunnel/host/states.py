"""Grouping of runs by the state of the host: only runs of one state may be compared. A difference between two states is the host's."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from windtunnel.host.levels import GAP, ONLY_ONE, joined


class Placed(Protocol):
    """A measurement with a state: a run, or one pass of another timed program."""

    @property
    def state(self) -> str | None:
        """The name of its state; None: not known."""

    @property
    def line_ns(self) -> float | None:
        """Round trip of a cache line between the CPUs of workers, or of a copy to the thread of a software copier; None: there is neither,
        or it is not known."""


P = TypeVar("P", bound=Placed)


@dataclass(frozen=True)
class Where:
    """A state without a measurement."""

    state: str | None = None
    line_ns: float | None = None


@dataclass(frozen=True)
class Group:
    """Blocks of one state."""

    state: str | None
    """Its name; None: no state is known of any block."""
    positions: list[int]
    """Positions of the blocks, ascending."""


def same(a: Placed, b: Placed) -> bool:
    """Whether both are of one state. An unknown state equals any other.

    A state from the time when only one level of the host was known is compared by its round trip. Records of version 5 may have a busy sibling
    in the name of their state, as in "one-l3, sibling busy", and the names of several levels in another order."""
    if a.state is None or b.state is None:
        return True
    (level_a, _, sibling_a), (level_b, _, sibling_b) = a.state.partition(", "), b.state.partition(", ")
    if sibling_a != sibling_b:
        return False
    if a.line_ns is None or b.line_ns is None:
        return True
    if ONLY_ONE not in level_a + level_b:
        return joined([level_a]) == joined([level_b])
    return max(a.line_ns, b.line_ns) < GAP * min(a.line_ns, b.line_ns)


def groups(blocks: Sequence[Sequence[Placed]]) -> list[Group]:
    """The blocks by the state that all members of a block share, the state with the most blocks first. All blocks have as many members. A
    block whose members were in two states is in no group. Neither is one with a member of unknown state, unless all members at that position
    are of unknown state: those records are older, or of another program."""
    is_known = [any(member.state is not None for member in column) for column in zip(*blocks, strict=True)]
    remaining, groups = set(range(len(blocks))), []
    for example in _examples(member for block in blocks for member in block):
        positions = [
            n
            for n in sorted(remaining)
            if all(
                _is_of(example, member)
                for member, column_known in zip(blocks[n], is_known, strict=True)
                if column_known
            )
        ]
        if positions:
            groups.append(Group(example.state, positions))
            remaining.difference_update(positions)
    return sorted(groups, key=lambda group: -len(group.positions))


def sides(a: Sequence[P], b: Sequence[P]) -> list[tuple[str | None, list[P], list[P]]]:
    """Runs of two sides by state, if their order in time does not matter: state, runs of A, runs of B; first the state of which the
    smaller side has most. A side without a known state has all its runs in each."""
    is_known = [any(run.state is not None for run in side) for side in (a, b)]
    by_state, remaining = [], [list(a), list(b)]
    for example in _examples([*a, *b]):
        ours, theirs = (
            [run for run in side if not side_known or _is_of(example, run)]
            for side, side_known in zip(remaining, is_known, strict=True)
        )
        by_state.append((example.state, ours, theirs))
        placed_ids = {
            id(run) for side, side_known in zip((ours, theirs), is_known, strict=True) if side_known for run in side
        }
        remaining = [[run for run in side if id(run) not in placed_ids] for side in remaining]
    return sorted(by_state, key=lambda group: (-min(len(group[1]), len(group[2])), -len(group[1]) - len(group[2])))


def words(state: str | None) -> str:
    """The name of a state for sentences, such as "one L3"."""
    if state is None:
        return "a state that is not known"
    return state.replace("-l3", " L3").replace("-", " ")


def counts(numbers: Sequence[tuple[str | None, int]], dropped: int, noun: str) -> str:
    """A text such as "9 pairs on one-l3, 4 on two-l3s, 2 dropped"; empty if no state is known and none is dropped."""
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
    """One measurement of each state. Those with more information come first, so that the others join them."""
    with_state = sorted(
        (run for run in placed if run.state is not None),
        key=lambda run: (run.line_ns is None, ONLY_ONE in (run.state or "")),
    )
    examples: list[Placed] = []
    for run in with_state:
        if not any(same(run, example) for example in examples):
            examples.append(run)
    return examples or [Where()]
