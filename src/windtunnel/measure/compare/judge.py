"""The comparison of two sides: estimates, corrected for their number, and a verdict for each workload."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import exp, expm1, log

import numpy as np

from windtunnel.host import states
from windtunnel.measure.compare import model, obstacles
from windtunnel.measure.compare.measures import ValidRuns, beyond, estimate, valid_runs, values_of
from windtunnel.measure.compare.points import Point, differences, points, with_common_windows, words
from windtunnel.measure.compare.reading import MetricKey, better, deciding
from windtunnel.measure.compare.sides import Side
from windtunnel.stats import family
from windtunnel.stats.differences import LEAST_LOOKED_AT, LEAST_RUNS, LEVEL, Estimate, whole
from windtunnel.stats.shares import shares_differ
from windtunnel.version import __version__

BETWEEN_RUNS = 0.05
"""Assumed standard deviation from run to run. Identical runs on small virtual machines: 10% to 90% of them lie within 3-12%,
which is one of 1-5%."""


@dataclass
class _Compared:
    """A point on its way to a verdict."""

    point: Point
    invalid: list[str]
    obstacles: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    """Why nothing can be told from runs that could be compared."""
    held: ValidRuns | None = None
    found: dict[MetricKey, tuple[Estimate | None, str | None]] = field(default_factory=dict)
    primary: dict[str, tuple[MetricKey, str | None]] = field(default_factory=dict)
    """Workload -> the metric that decides, and why this one."""


def judge(
    a: Side,
    b: Side,
    between: float = BETWEEN_RUNS,
    paired_runs: model.PairedRuns | None = None,
    force: bool = False,
) -> model.Comparison:
    """Compares what was read. `between` is the share by which runs are assumed to differ if they are too few to tell, which is
    done for runs in turn, and with `force` for others."""
    both, only_a, only_b = points(a.readings, b.readings)
    compared = [_compare(point, between, paired_runs, force) for point in both]
    joint = _jointly(compared)
    corrected = _corrected(compared)
    warnings = [f"only in {side}: {words(factors)}" for side, of in (("A", only_a), ("B", only_b)) for factors in of]
    for each in compared:
        warnings += [warning for warning in _warnings(each) if warning not in warnings]
    return model.Comparison(
        made=datetime.now(UTC),
        windtunnel=__version__,
        a=str(a.path),
        b=str(b.path),
        level=LEVEL,
        between_runs=between,
        paired_runs=paired_runs,
        points=[
            _point(each, corrected[n], {key: found for (of, key), found in joint.items() if of == n})
            for n, each in enumerate(compared)
        ]
        or [_nothing(a, b)],
        whole=_whole(compared),
        warnings=warnings,
    )


def _compare(point: Point, between: float, paired_runs: model.PairedRuns | None, force: bool) -> _Compared:
    """`paired_runs`: its runs are known to have alternated, and how. `force`: runs that are too few to show their spread are compared all the same."""
    point = with_common_windows(point)
    compared = _Compared(point, obstacles.invalid(point))
    a, b = ([reading for reading in side if not reading.reasons] for side in (point.a, point.b))
    if compared.invalid:
        return compared
    compared.obstacles = obstacles.obstacles(a, b)
    if compared.obstacles:
        return compared
    looked_at = paired_runs is not None and paired_runs.until_decided
    held = valid_runs(point.a, point.b, between, paired_runs is not None, looked_at)
    compared.doubts = _doubts(held, force or held.in_turn)
    compared.held = held
    if compared.doubts:
        return compared
    compared.found = {key: estimate(held, key) for key in held.metrics()}
    for name in (name for name in a[0].modes if name in b[0].modes):
        metric, why = deciding(name, held.a, held.b)
        compared.primary[name] = (name, metric), why
    return compared


def _doubts(held: ValidRuns, few: bool) -> list[str]:
    """Why these runs tell nothing: they share no state of the host, or too few of them do. `few`: any number is enough."""
    if not held.fewest:
        return [f"{', '.join(_ran_on(held))}. Compare two scenarios, so that their runs alternate"]
    if held.looked_at and held.fewest < LEAST_LOOKED_AT:
        return [f"{held.fewest} pairs, and {LEAST_LOOKED_AT} show a difference if each may be the last"]
    if few or held.fewest >= LEAST_RUNS:
        return []
    where = f" on {held.by_state[0][0]}" if len(held.by_state) > 1 else ""
    counted = f"{len(held.a)} run{'s' * (len(held.a) > 1)} of A and {len(held.b)} of B{where}"
    return [f"{counted}, {LEAST_RUNS} of each show how runs differ. More runs, two scenarios, or --force"]


def _ran_on(held: ValidRuns) -> Iterator[str]:
    """ "A ran on one L3", "B on two L3s"."""
    for name, side, verb in (("A", 1, " ran"), ("B", 2, "")):
        yield f"{name}{verb} on {' and '.join(states.words(row[0]) for row in held.by_state if row[side])}"


@dataclass(frozen=True)
class _Member:
    """One measure of one point, in a family of measures of which one may be shown by chance."""

    point: int
    key: MetricKey
    estimate: Estimate


def _corrected(compared: Sequence[_Compared]) -> list[dict[MetricKey, float]]:
    """The p-values of each point, corrected for their number: what decides, of all workloads and points, is one family, all else another."""
    deciding, others = list[_Member](), list[_Member]()
    for n, each in enumerate(compared):
        deciders = {key for key, _ in each.primary.values()}
        for key, (result, _) in each.found.items():
            if result is not None:
                (deciding if key in deciders else others).append(_Member(n, key, result))
    corrected: list[dict[MetricKey, float]] = [{} for _ in compared]
    for members in (deciding, others):
        for member, p in zip(members, _p_values(compared, members), strict=True):
            corrected[member.point][member.key] = p
    return corrected


def _p_values(compared: Sequence[_Compared], members: Sequence[_Member]) -> list[float]:
    """By the pairs themselves; by the number alone if some members are of few pairs, or of none."""
    logs = [_log_ratios(compared[member.point].held, member.key) for member in members]
    if not members or not all(len(ratios) >= family.LEAST_PAIRS for ratios in logs):
        return family.holm([member.estimate.p for member in members])
    groups: dict[tuple[int, int], list[int]] = {}
    for place, (member, ratios) in enumerate(zip(members, logs, strict=True)):
        groups.setdefault((member.point, len(ratios)), []).append(place)
    p_values = family.greatest_of_all([np.array([logs[place] for place in places]).T for places in groups.values()])
    by_place = {
        place: p
        for places, of_group in zip(groups.values(), p_values, strict=True)
        for place, p in zip(places, of_group, strict=True)
    }
    return [by_place[place] for place in range(len(members))]


def _log_ratios(held: ValidRuns | None, key: MetricKey) -> list[float]:
    """Of each pair; empty if A and B did not alternate, or if their number depends on what they show."""
    if held is None or held.method != "paired" or held.looked_at:
        return []
    return [log(b / a) for a, b in zip(*values_of(held, key), strict=True)]


def _jointly(compared: Sequence[_Compared]) -> dict[tuple[int, MetricKey], Estimate]:
    """Each estimate with an interval that holds together with those of the same metric in all other workloads and points (Bonferroni):
    whoever names a metric asks for all of them. One that has none, because it takes more pairs than there are, is not measured."""
    members = [(n, key) for n, each in enumerate(compared) for key, (result, _) in each.found.items() if result]
    count = Counter(metric for _, (_, metric) in members)
    joint = {}
    for n, key in members:
        held, alone = compared[n].held, compared[n].found[key][0]
        assert held is not None and alone is not None
        together, why = (alone, None) if count[key[1]] == 1 else estimate(held, key, LEVEL / count[key[1]])
        if together is None:
            compared[n].found[key] = None, why
        else:
            joint[n, key] = together
    return joint


def _point(compared: _Compared, corrected: dict[MetricKey, float], joint: dict[MetricKey, Estimate]) -> model.Point:
    measures = {key: _measure(compared, key, corrected, joint) for key in compared.found}
    return model.Point(
        factors=dict(compared.point.factors),
        differences=[model.Difference(**vars(each)) for each in differences(compared.point)],
        runs=_runs(compared),
        in_turn=compared.held is not None and compared.held.in_turn,
        states=[model.InState(state=s, a=ours, b=theirs) for s, ours, theirs in compared.held.by_state]
        if compared.held
        else [],
        dropped=compared.held.dropped if compared.held else 0,
        unsettled=_unsettled(compared.held) if compared.held else None,
        judged=_judged(compared, measures),
        measures=list(measures.values()),
    )


def _unsettled(held: ValidRuns) -> model.Unsettled | None:
    a, b = ([reading.unsettled for reading in side if reading.unsettled is not None] for side in (held.a, held.b))
    if not a or not b or not any((*a, *b)):
        return None
    return model.Unsettled(
        a=sum(a), of_a=len(a), b=sum(b), of_b=len(b), p=shares_differ(sum(a), len(a), sum(b), len(b))
    )


def _judged(compared: _Compared, measures: dict[MetricKey, model.Measure]) -> list[model.Judged]:
    def refused(verdict: model.Verdict, reasons: list[str]) -> list[model.Judged]:
        names = [n for n in compared.point.a[0].modes if n in compared.point.b[0].modes] or [""]
        return [
            model.Judged(workload=name, verdict=verdict, reasons=reasons, decided_by=None, because=None)
            for name in names
        ]

    if compared.invalid:
        return refused("invalid", compared.invalid)
    if compared.obstacles:
        return refused("cannot be compared", compared.obstacles)
    if compared.doubts:
        return refused("cannot tell", compared.doubts)
    judged = []
    for workload, (key, because) in compared.primary.items():
        measure = measures.get(key)
        if measure is None or measure.interval is None:
            verdict, why = "cannot be compared", [f"{key[1]}: {measure.unmeasured if measure else 'not measured'}"]
        else:
            verdict, why = (
                _word(measure.interval.percent, measure.better) if measure.shown else "no difference shown",
                [],
            )
        judged.append(model.Judged(workload=workload, verdict=verdict, reasons=why, decided_by=key[1], because=because))
    return judged


def _word(difference: float, better_is: str) -> model.Verdict:
    return "faster" if (difference > 0) == (better_is == "higher") else "slower"


def _measure(
    compared: _Compared, key: MetricKey, corrected: dict[MetricKey, float], joint: dict[MetricKey, Estimate]
) -> model.Measure:
    result, unmeasured = compared.found[key]
    workload, metric = key
    assert compared.held is not None
    return model.Measure(
        workload=workload,
        metric=metric,
        unit="/s" if metric.endswith("_per_s") else "ns",
        better=better(metric),
        a=[reading.values.get(key) for reading in compared.held.a],
        b=[reading.values.get(key) for reading in compared.held.b],
        interval=interval_of(result, corrected[key], joint[key]) if result else None,
        unmeasured=unmeasured,
        beyond_a=beyond(compared.held.a, key),
        beyond_b=beyond(compared.held.b, key),
        shown=result is not None and corrected[key] <= LEVEL,
    )


def interval_of(result: Estimate, corrected: float, joint: Estimate | None = None) -> model.Interval:
    """The estimate as the document has it. `corrected`: its p-value, corrected for the number of tests. `joint`: with the interval that
    holds together with others; None: there are no others."""
    joint = joint or result
    return model.Interval(
        method=result.method,
        a=exp(result.half_way - result.difference / 2),
        b=exp(result.half_way + result.difference / 2),
        percent=100 * expm1(result.difference),
        low=100 * expm1(result.low),
        high=100 * expm1(result.high),
        joint_low=100 * expm1(joint.low),
        joint_high=100 * expm1(joint.high),
        smallest=100 * expm1(result.smallest),
        effect=result.effect,
        p=result.p,
        p_corrected=corrected,
    )


def _runs(compared: _Compared) -> list[model.Run]:
    """All runs, in the order of time."""
    held = compared.held
    sides = (held.a, held.b) if held else ()
    place = {id(reading): n for side in sides for n, reading in enumerate(side)}
    runs = [("a", reading) for reading in compared.point.a] + [("b", reading) for reading in compared.point.b]
    runs.sort(key=lambda run: (run[1].started is None, run[1].started.timestamp() if run[1].started else 0))
    return [
        model.Run(
            side=side,
            path=str(reading.path),
            started=reading.started,
            place=place.get(id(reading)),
            reasons=reading.reasons or reading.included,
            relaxed=reading.relaxed,
        )
        for side, reading in runs
    ]


def _whole(compared: Sequence[_Compared]) -> list[model.Whole]:
    """Each workload over the points that the same metric decides."""
    parts: dict[MetricKey, list[Estimate]] = {}
    for point in compared:
        for key, _ in point.primary.values():
            if (result := point.found.get(key, (None, None))[0]) is not None:
                parts.setdefault(key, []).append(result)
    rows = []
    for (workload, metric), of in parts.items():
        if len(of) > 1:
            result = whole(of)
            shown = result.p <= LEVEL
            verdict = _word(result.difference, better(metric)) if shown else "no difference shown"
            rows.append(
                model.Whole(
                    workload=workload,
                    verdict=verdict,
                    metric=metric,
                    points=len(of),
                    interval=interval_of(result, result.p),
                )
            )
    return rows


def _warnings(compared: _Compared) -> list[str]:
    readings = [*compared.point.a, *compared.point.b]
    warnings = [f"{reading.path}: {problem}" for reading in readings for problem in reading.problems]
    held = compared.held
    if held is None:
        return warnings
    invalid = [reading for reading in readings if reading.reasons]
    warnings += [f"{reading.path}: invalid, excluded: {reading.reasons[0]}" for reading in invalid]
    if compared.doubts:
        return warnings
    warnings += [f"{reading.path}: excluded, it has no partner in time" for reading in held.unpaired]
    if included := [reading for reading in readings if reading.included]:
        warnings.append(f"{len(included)} of {len(readings)} runs are invalid and included (--include-invalid)")
        warnings += [f"{reading.path}: invalid, included: {reading.included[0]}" for reading in included]
    warnings += obstacles.warnings(held.a, held.b)
    if unsettled := _unsettled(held):
        warnings.append(
            f"not settled: {unsettled.a} of {unsettled.of_a} runs of A and {unsettled.b} of {unsettled.of_b} of B; "
            + ("the shares differ" if unsettled.p <= LEVEL else "the shares may be the same")
            + f" (exact test, p = {unsettled.p:.2g})"
        )
    if held.method == "assumed":
        warnings.append(
            f"too few runs to measure the spread between identical runs: {held.between:.0%} is assumed (--between-runs); "
            "the windows of one run do not show it"
        )
    if not held.in_turn:
        warnings.append("A and B did not alternate: a drift of the host looks like a difference")
    return warnings


def _nothing(a: Side, b: Side) -> model.Point:
    """No point in common."""
    reason = "no point in common: the runs of A and those of B vary in different keys"
    judged = model.Judged(workload="", verdict="cannot be compared", reasons=[reason], decided_by=None, because=None)
    everything = _Compared(Point((), list(a.readings), list(b.readings)), [])
    return model.Point(
        factors={},
        differences=[],
        runs=_runs(everything),
        in_turn=False,
        states=[],
        dropped=0,
        judged=[judged],
        measures=[],
    )
