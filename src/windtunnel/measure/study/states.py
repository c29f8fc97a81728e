"""The state of the host as a blocking factor: points are compared within the state that most of them share.

A difference between two points that ran in two states is the host's. So runs that missed the state are repeated, as far as
`state_repeats` allows, and only runs of the state are in findings and plots. All are in the table.

Points whose workers are on other CPUs may never come into that state. They have the state that most of their own runs share. Points of
which no state is known at all, because their workers share a CPU, are compared as they are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from windtunnel.host.states import Where, groups
from windtunnel.measure.study.record import StudyRecord

KEY = "validity.state"

Row = dict[str, Any]


@dataclass(frozen=True)
class Blocked:
    """The rows of a study in one state of the host."""

    state: str | None
    """State that most points share; None: none is known, or it is a factor of the study."""
    rows: list[Row]
    """Rows of this state, and of invalid runs, which have no metrics."""
    missed: list[Row]
    """Valid rows of another state."""


def blocked(record: StudyRecord, rows: Sequence[Row]) -> Blocked:
    """The rows by the state that most points share; of two that equally many do, the one with more runs."""
    probed = {row["point"] for row in rows if row["host_state"] is not None}
    valid = [row for row in rows if row["valid"] and row["point"] in probed]
    if not valid or any(KEY in factor.keys for factor in record.factors):
        return Blocked(None, list(rows), [])
    state, shared = _most_points(valid)
    of_state = {id(row) for row in shared}
    placements: dict[tuple[tuple[str, tuple[int, ...]], ...], list[Row]] = {}
    for row in valid:
        placements.setdefault(_placement(record, row["point"]), []).append(row)
    for own in placements.values():
        if not any(id(row) in of_state for row in own):
            of_state |= {id(row) for row in _most_points(own)[1]}
    missed = [row for row in valid if id(row) not in of_state]
    out = {id(row) for row in missed}
    return Blocked(state, [row for row in rows if id(row) not in out], missed)


def by_testbed(record: StudyRecord, rows: Sequence[Row]) -> dict[str | None, list[Row]]:
    """The rows that may be taken together: all of them, under None; of a spread study those of each testbed, under its name."""
    rows_by_testbed: dict[str | None, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["testbed"] or "") if record.spread else rows:
        rows_by_testbed.setdefault(row["testbed"] if record.spread else None, []).append(row)
    return rows_by_testbed


def to_repeat(record: StudyRecord, rows: Sequence[Row], turns: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Point and repeat of the runs that missed the state: those of points first that have the fewest runs in it, then as they ran."""
    blocks = [blocked(record, testbed_rows) for testbed_rows in by_testbed(record, rows).values()]
    missed = {(row["point"], row["repeat"]) for block in blocks for row in block.missed}
    runs: dict[int, set[int]] = {}
    for row in (row for block in blocks for row in block.rows):
        if row["valid"]:
            runs.setdefault(row["point"], set()).add(row["repeat"])
    return sorted((turn for turn in turns if turn in missed), key=lambda turn: len(runs.get(turn[0], ())))


def budget(record: StudyRecord) -> int:
    """Runs that may be repeated for their state."""
    return round(record.state_repeats * sum(map(len, record.order)))


def _most_points(rows: Sequence[Row]) -> tuple[str | None, list[Row]]:
    """The state that most points of these rows share, and its rows."""
    states = groups([(Where(row["host_state"], row["line_ns"]),) for row in rows])
    if not states:
        return None, list(rows)
    best = max(states, key=lambda group: (len({rows[n]["point"] for n in group.positions}), len(group.positions)))
    return best.state, [rows[n] for n in best.positions]


def _placement(record: StudyRecord, number: int) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((side, tuple(cpus)) for side, cpus in sorted(record.point(number).cpus.items()))
