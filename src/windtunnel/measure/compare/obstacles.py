"""What stands against holding two sets of runs against each other."""

from collections.abc import Callable, Sequence

from windtunnel.measure.compare.points import Point
from windtunnel.measure.compare.reading import Reading
from windtunnel.runs.record import DID_NOT_FINISH

MOST_INVALID = 0.5
"""Share of a side's runs that may be invalid and left out; with more of them, what is left is the exception."""


def invalid(point: Point) -> list[str]:
    """Why the runs of a side may not be used, in words; empty where they may."""
    words = []
    for name, readings in (("A", point.a), ("B", point.b)):
        bad = [reading for reading in readings if reading.reasons]
        ended = [reading for reading in bad if not any(map(_cut_short, reading.reasons))]
        if len(bad) == len(readings) or len(ended) > MOST_INVALID * len(readings):
            first = f"{bad[0].path}: {bad[0].reasons[0]}"
            words.append(f"{name}: {len(bad)} of {_runs(len(readings))} invalid, {first}")
    return words


def obstacles(a: Sequence[Reading], b: Sequence[Reading]) -> list[str]:
    """Why these valid runs cannot be compared; empty where they can."""
    words = [_differs(what, a, b, lambda r, what=what: r.identity[what]) for what in a[0].identity]
    words.append(_one_sided(a, b))
    shared = a[0].modes.keys() & b[0].modes.keys()
    words += [
        _differs(f"load of {name}", a, b, lambda r, name=name: r.modes.get(name, "none")) for name in sorted(shared)
    ]
    if not shared:
        ours, theirs = (", ".join(side[0].modes) or "none" for side in (a, b))
        words.append(f"no workload in common: A has {ours}, B has {theirs}")
    return [each for each in words if each]


def warnings(a: Sequence[Reading], b: Sequence[Reading]) -> list[str]:
    """What a reader should know although the runs can be compared."""
    words = [_differs(what, a, b, of) for what, of in (("accounting", _accounting), ("question", _question))]
    return [f"another {each}" for each in words if each]


def _differs(what: str, a: Sequence[Reading], b: Sequence[Reading], of: Callable[[Reading], str]) -> str | None:
    ours, theirs = (sorted({of(reading) for reading in side}) for side in (a, b))
    if len({*ours, *theirs}) == 1:
        return None
    return f"{what}: A {' and '.join(ours)}, B {' and '.join(theirs)}"


def _one_sided(a: Sequence[Reading], b: Sequence[Reading]) -> str | None:
    marks = [sorted({mark for reading in side for mark in reading.emulated}) for side in (a, b)]
    if bool(marks[0]) == bool(marks[1]):
        return None
    side = "A" if marks[0] else "B"
    return f"on {side} alone: {'; '.join(marks[0] or marks[1])}"


def _cut_short(reason: str) -> bool:
    """Whether somebody ended the run, or its supervisor: that says nothing against the other runs."""
    return reason == DID_NOT_FINISH or reason.startswith("stopped before the end: interrupted")


def _accounting(reading: Reading) -> str:
    return reading.accounting


def _question(reading: Reading) -> str:
    return f'"{reading.question}"'


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"
