"""Which runs of A belong with which of B: points of a study by their factors, pairs by the times at which they started."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from windtunnel.measure.compare.reading import Reading, in_common
from windtunnel.runs.identity import NO_FACTOR

FOUND = (".cores", ".mempool.size", ".mempool.cache")
"""Ends of keys whose value follows from others if nobody gives one: a factor only if no other tells the points apart."""
PAIRED_SHARE = 0.8
"""Share of the runs of the smaller side that must be in pairs for the sides to count as alternating."""

LEAST_PAIRS = 2
"""Fewest pairs: one run of each side has no order that shows whether the sides alternated."""

Factors = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Point:
    """Runs of both sides that have the same factors."""

    factors: Factors
    a: list[Reading]
    b: list[Reading]


@dataclass(frozen=True)
class Difference:
    """A key in which B's scenario differs from A's, or the command of observed programs; None if one does not have it."""

    key: str
    a: Any
    b: Any


def points(a: Sequence[Reading], b: Sequence[Reading]) -> tuple[list[Point], list[Factors], list[Factors]]:
    """The points that both have, and those of A alone and of B alone. Factors are the keys in which runs of one side differ
    from each other; runs that differ in none are one point."""
    keys = _factors(a, b)
    of_a: dict[Factors, list[Reading]] = {}
    of_b: dict[Factors, list[Reading]] = {}
    for readings, by_point in ((a, of_a), (b, of_b)):
        for reading in readings:
            by_point.setdefault(_at(reading, keys), []).append(reading)
    common = [Point(factors, of_a[factors], of_b[factors]) for factors in of_a if factors in of_b]
    common.sort(key=lambda point: [_rank(value) for _, value in point.factors])
    return common, [f for f in of_a if f not in of_b], [f for f in of_b if f not in of_a]


def differences(point: Point) -> list[Difference]:
    """What was changed from A to B. A program that was observed has no scenario: its command stands for it."""
    a, b = (reading.scenario | {"command": reading.command} for reading in (point.a[0], point.b[0]))
    keys = [key for key in dict.fromkeys([*a, *b]) if key != "title" and key != "wire.socket"]
    return [Difference(key, a.get(key), b.get(key)) for key in keys if a.get(key) != b.get(key)]


def pairs(a: Sequence[Reading], b: Sequence[Reading], least: int = LEAST_PAIRS) -> list[tuple[Reading, Reading]]:
    """Runs of A and B of which one started right after the other; empty if the sides did not alternate, or not `least` times."""
    timed = sorted(
        (
            (reading.started, side, reading)
            for side, readings in enumerate((a, b))
            for reading in readings
            if reading.started
        ),
        key=lambda run: run[0],
    )
    matched, waiting = [], None
    for _, side, reading in timed:
        if waiting is not None and waiting[0] != side:
            matched.append((reading, waiting[1]) if side == 0 else (waiting[1], reading))
            waiting = None
        else:
            waiting = (side, reading)
    return matched if len(matched) >= PAIRED_SHARE * min(len(a), len(b)) and len(matched) >= least else []


def with_common_windows(point: Point) -> Point:
    """The point with pairs of valid runs that alternated by windows read by the windows that count in both."""
    valid_a, valid_b = (
        [reading for reading in side if not reading.reasons and not reading.included] for side in (point.a, point.b)
    )
    read: dict[int, Reading] = {}
    for a, b in pairs(valid_a, valid_b, 1):
        read[id(a)], read[id(b)] = in_common(a, b)
    return replace(point, a=[read.get(id(r), r) for r in point.a], b=[read.get(id(r), r) for r in point.b])


def describe_factors(factors: Iterable[tuple[str, Any]]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in factors)


def _factors(a: Sequence[Reading], b: Sequence[Reading]) -> list[str]:
    keys = sorted(_varying(a) | _varying(b))
    for key in [key for key in keys if key.endswith(FOUND)]:
        other_keys = [other for other in keys if other != key]
        if all(len({_at(r, other_keys) for r in side}) == len({_at(r, keys) for r in side}) for side in (a, b)):
            keys = other_keys
    return keys


def _at(reading: Reading, keys: Iterable[str]) -> Factors:
    return tuple((key, _hashable(reading.scenario.get(key))) for key in keys)


def _varying(readings: Sequence[Reading]) -> set[str]:
    first = readings[0].scenario
    others = [reading.scenario for reading in readings[1:]]
    keys = {key for scenario in (first, *others) for key in scenario} - NO_FACTOR
    return {key for key in keys if any(scenario.get(key) != first.get(key) for scenario in others)}


def _rank(value: Any) -> tuple[bool, float, str]:
    """Numbers by size, and before texts."""
    number = isinstance(value, int | float)
    return (False, value, "") if number else (True, 0, str(value))


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
