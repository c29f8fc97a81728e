"""Tables of workers: of replicas, which do the same, the odd one, the median one and the other end stand for all.

A run of 64 workers has so a table that fits a terminal, and every number in it is one that a worker has.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from windtunnel.runs.replicas import LEAST_GROUP

MOST_ROWS = 8
"""A table with more workers shows groups."""
T = TypeVar("T")


def grouped(rows: Sequence[T], group_of: Callable[[T], Hashable]) -> list[list[T]]:
    """The rows by their groups, in the order of the groups' first rows; each row alone if they are few."""
    if len(rows) <= MOST_ROWS:
        return [[row] for row in rows]
    groups: dict[Hashable, list[T]] = {}
    for row in rows:
        groups.setdefault(group_of(row), []).append(row)
    return list(groups.values())


def representatives(groups: Iterable[Sequence[T]], value: Callable[[T], float]) -> list[tuple[T, str]]:
    """Rows that are shown, with what they are of their group, as in "most of 8": the end that is farther from the median, the median one, and the
    other end. A row of a small group is shown as it is."""
    shown: list[tuple[T, str]] = []
    for group in groups:
        if len(group) < LEAST_GROUP:
            shown += [(row, "") for row in group]
            continue
        ordered = sorted(group, key=value)
        least, middle, most = ordered[0], ordered[(len(ordered) - 1) // 2], ordered[-1]
        ends = [(least, f"least of {len(group)}"), (most, f"most of {len(group)}")]
        odd, other = sorted(ends, key=lambda end: -abs(value(end[0]) - value(middle)))
        shown += [odd, (middle, f"median of {len(group)}"), other]
    return shown
