"""Why two sets of runs may not be compared."""

from collections.abc import Iterable, Sequence

from windtunnel.engine.verdict import INTERRUPTED_BY_USER, READER_LEFT
from windtunnel.measure.compare.points import Point
from windtunnel.measure.compare.reading import Reading
from windtunnel.runs.record import DID_NOT_FINISH

MOST_INVALID = 0.5
"""Share of a side's runs that may be invalid and excluded; with more of them, the valid ones are the exception."""


def invalid(point: Point) -> list[str]:
    """Reasons why the runs of a side may not be used; empty if they may."""
    reasons = []
    for name, readings in (("A", point.a), ("B", point.b)):
        invalid_runs = [reading for reading in readings if reading.reasons]
        ended = [reading for reading in invalid_runs if not any(map(_cut_short, reading.reasons))]
        if len(invalid_runs) == len(readings) or len(ended) > MOST_INVALID * len(readings):
            first = f"{invalid_runs[0].path}: {invalid_runs[0].reasons[0]}"
            reasons.append(f"{name}: {len(invalid_runs)} of {_runs(len(readings))} invalid, {first}")
    return reasons


def obstacles(a: Sequence[Reading], b: Sequence[Reading]) -> list[str]:
    """Why these valid runs cannot be compared; empty if they can."""
    kept = [fact for fact in a[0].identity if fact != "wire" or not _frames_or_none(a, b)]
    reasons = [_differs(fact, [r.identity[fact] for r in a], [r.identity[fact] for r in b]) for fact in kept]
    reasons += [_one_sided(a, b)]
    shared = a[0].modes.keys() & b[0].modes.keys()
    reasons += [
        _differs(f"load of {name}", [r.modes.get(name, "none") for r in a], [r.modes.get(name, "none") for r in b])
        for name in sorted(shared)
    ]
    if not shared:
        reasons.append(no_common_workload(*(list(side[0].modes) for side in (a, b))))
    return [reason for reason in reasons if reason]


def no_common_workload(a: Sequence[str], b: Sequence[str]) -> str:
    """The reason for two sides without a common workload. `a`, `b`: names of their workloads."""
    of_a, of_b = (", ".join(names) or "none" for names in (a, b))
    return f"no workload in common: A has {of_a}, B has {of_b}"


def warnings(a: Sequence[Reading], b: Sequence[Reading]) -> list[str]:
    """Differences that a reader should know of although the runs can be compared."""
    differences = [
        _differs("accounting", map(_accounting, a), map(_accounting, b)),
        _differs("question", map(_question, a), map(_question, b)),
    ]
    if _frames_or_none(a, b):
        differences.append(_differs("wire", [r.identity["wire"] for r in a], [r.identity["wire"] for r in b]))
    return [
        *(f"another {difference}" for difference in differences if difference),
        *_other_builds(a, b),
        *_relaxed(a, b),
    ]


def _frames_or_none(a: Sequence[Reading], b: Sequence[Reading]) -> bool:
    """Whether one side's wire carries frames and the other's does not: then the comparison asks what that makes of a scenario."""
    return {reading.unframed for reading in a} == {not reading.unframed for reading in b}


def _relaxed(a: Sequence[Reading], b: Sequence[Reading]) -> list[str]:
    """Validity limits that the scenarios relaxed, by side: "valid" means less there."""
    lines = []
    for name, side in (("A", a), ("B", b)):
        limits = dict.fromkeys(limit for reading in side for limit in reading.relaxed)
        lines += [f"{name}: valid, limits relaxed: {', '.join(limits)}"] if limits else []
    return lines


def _other_builds(a: Sequence[Reading], b: Sequence[Reading]) -> list[str]:
    """Two builds of one version: often the point of a comparison, so it is a warning."""
    of_a, of_b = (sorted({build[:12] for reading in side for build in reading.builds}) for side in (a, b))
    if not of_a or not of_b or of_a == of_b:
        return []
    return [f"different builds of the engine: A {' and '.join(of_a)}, B {' and '.join(of_b)}"]


def _differs(name: str, a: Iterable[str], b: Iterable[str]) -> str | None:
    of_a, of_b = sorted(set(a)), sorted(set(b))
    if len({*of_a, *of_b}) == 1:
        return None
    return f"{name}: A {' and '.join(of_a)}, B {' and '.join(of_b)}"


def _one_sided(a: Sequence[Reading], b: Sequence[Reading]) -> str | None:
    marks = [sorted({mark for reading in side for mark in reading.emulated}) for side in (a, b)]
    if bool(marks[0]) == bool(marks[1]):
        return None
    side = "A" if marks[0] else "B"
    return f"only on {side}: {'; '.join(marks[0] or marks[1])}"


def _cut_short(reason: str) -> bool:
    """Whether the user or the supervisor ended the run: that does not count against the other runs."""
    return reason == DID_NOT_FINISH or reason.startswith((INTERRUPTED_BY_USER, READER_LEFT))


def _accounting(reading: Reading) -> str:
    return reading.accounting


def _question(reading: Reading) -> str:
    return f'"{reading.question}"'


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"
