"""The comparison of two sides: estimates, corrected for their number, and a verdict for each workload."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import exp, expm1, log

import numpy as np

from windtunnel.host import states
from windtunnel.measure.compare import comparison_record as record
from windtunnel.measure.compare import obstacles
from windtunnel.measure.compare.measures import ValidRuns, beyond, estimate, valid_runs, values_of
from windtunnel.measure.compare.points import Point, describe_factors, differences, points, with_common_windows
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
class _PointComparison:
    """A point while it is being compared."""

    point: Point
    invalid: list[str]
    obstacles: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    """Reasons why runs that could be compared do not suffice for a verdict."""
    valid: ValidRuns | None = None
    estimates: dict[MetricKey, tuple[Estimate | None, str | None]] = field(default_factory=dict)
    primary: dict[str, tuple[MetricKey, str | None]] = field(default_factory=dict)
    """Workload -> the metric that decides, and why this one."""


def judge(
    a: Side,
    b: Side,
    between: float = BETWEEN_RUNS,
    paired_runs: record.PairedRuns | None = None,
    force: bool = False,
) -> record.Comparison:
    """Compares what was read. `between` is the share by which runs are assumed to differ if they are too few to tell, which is
    done for runs in turn, and with `force` for others."""
    both, only_a, only_b = points(a.readings, b.readings)
    comparisons = [_compare(point, between, paired_runs, force) for point in both]
    joint = _jointly(comparisons)
    corrected = _corrected(comparisons)
    warnings = [
        f"only in {side}: {describe_factors(factors)}"
        for side, points_alone in (("A", only_a), ("B", only_b))
        for factors in points_alone
    ]
    for comparison in comparisons:
        warnings += [warning for warning in _warnings(comparison) if warning not in warnings]
    return record.Comparison(
        made=datetime.now(UTC),
        windtunnel=__version__,
        a=str(a.path),
        b=str(b.path),
        level=LEVEL,
        between_runs=between,
        paired_runs=paired_runs,
        points=[
            _point(
                comparison, corrected[n], {key: estimate_ for (place, key), estimate_ in joint.items() if place == n}
            )
            for n, comparison in enumerate(comparisons)
        ]
        or [_nothing(a, b)],
        whole=_whole(comparisons),
        warnings=warnings,
    )


def _compare(point: Point, between: float, paired_runs: record.PairedRuns | None, force: bool) -> _PointComparison:
    """A point with its estimates. `paired_runs`: its runs are known to have alternated, and how. `force`: runs that are too few to show their spread are compared nevertheless."""
    point = with_common_windows(point)
    comparison = _PointComparison(point, obstacles.invalid(point))
    a, b = ([reading for reading in side if not reading.reasons] for side in (point.a, point.b))
    if comparison.invalid:
        return comparison
    comparison.obstacles = obstacles.obstacles(a, b)
    if comparison.obstacles:
        return comparison
    looked_at = paired_runs is not None and paired_runs.until_decided
    valid = valid_runs(point.a, point.b, between, paired_runs is not None, looked_at)
    comparison.doubts = _doubts(valid, force or valid.in_turn)
    comparison.valid = valid
    if comparison.doubts:
        return comparison
    comparison.estimates = {key: estimate(valid, key) for key in valid.metrics()}
    for name in (name for name in a[0].modes if name in b[0].modes):
        metric, why = deciding(name, valid.a, valid.b)
        comparison.primary[name] = (name, metric), why
    return comparison


def _doubts(valid: ValidRuns, few: bool) -> list[str]:
    """Reasons why these runs do not suffice: they share no state of the host, or too few of them do. `few`: any number is enough."""
    if not valid.fewest:
        return [f"{', '.join(_states_of_sides(valid))}. Compare two scenarios, so that their runs alternate"]
    if valid.looked_at and valid.fewest < LEAST_LOOKED_AT:
        return [f"{valid.fewest} pairs, and {LEAST_LOOKED_AT} show a difference if each may be the last"]
    if few or valid.fewest >= LEAST_RUNS:
        return []
    where = f" on {valid.by_state[0][0]}" if len(valid.by_state) > 1 else ""
    counts_text = f"{len(valid.a)} run{'s' * (len(valid.a) > 1)} of A and {len(valid.b)} of B{where}"
    return [f"{counts_text}, {LEAST_RUNS} of each show how runs differ. More runs, two scenarios, or --force"]


def _states_of_sides(valid: ValidRuns) -> Iterator[str]:
    """ "A ran on one L3", "B on two L3s"."""
    for name, side, verb in (("A", 1, " ran"), ("B", 2, "")):
        yield f"{name}{verb} on {' and '.join(states.words(row[0]) for row in valid.by_state if row[side])}"


@dataclass(frozen=True)
class _Member:
    """One measure of one point, in a family of measures of which one may be shown by chance."""

    point: int
    key: MetricKey
    estimate: Estimate


def _corrected(comparisons: Sequence[_PointComparison]) -> list[dict[MetricKey, float]]:
    """The p-values of each point, corrected for their number: what decides, of all workloads and points, is one family, all else another."""
    deciding, others = list[_Member](), list[_Member]()
    for n, comparison in enumerate(comparisons):
        deciders = {key for key, _ in comparison.primary.values()}
        for key, (result, _) in comparison.estimates.items():
            if result is not None:
                (deciding if key in deciders else others).append(_Member(n, key, result))
    corrected: list[dict[MetricKey, float]] = [{} for _ in comparisons]
    for members in (deciding, others):
        for member, p in zip(members, _p_values(comparisons, members), strict=True):
            corrected[member.point][member.key] = p
    return corrected


def _p_values(comparisons: Sequence[_PointComparison], members: Sequence[_Member]) -> list[float]:
    """The corrected p-values of the members, from the pairs themselves; from their number alone if some members have few pairs, or none."""
    logs = [_log_ratios(comparisons[member.point].valid, member.key) for member in members]
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


def _log_ratios(valid: ValidRuns | None, key: MetricKey) -> list[float]:
    """The log ratio of each pair; empty if A and B did not alternate, or if the number of pairs depends on what they show."""
    if valid is None or valid.method != "paired" or valid.looked_at:
        return []
    return [log(b / a) for a, b in zip(*values_of(valid, key), strict=True)]


def _jointly(comparisons: Sequence[_PointComparison]) -> dict[tuple[int, MetricKey], Estimate]:
    """Each estimate with an interval that holds together with those of the same metric in all other workloads and points (Bonferroni):
    whoever names a metric asks for all of them. One that has none, because it takes more pairs than there are, is not measured."""
    members = [
        (n, key)
        for n, comparison in enumerate(comparisons)
        for key, (result, _) in comparison.estimates.items()
        if result
    ]
    count = Counter(metric for _, (_, metric) in members)
    joint = {}
    for n, key in members:
        valid, alone = comparisons[n].valid, comparisons[n].estimates[key][0]
        assert valid is not None and alone is not None
        joint_estimate, why = (alone, None) if count[key[1]] == 1 else estimate(valid, key, LEVEL / count[key[1]])
        if joint_estimate is None:
            comparisons[n].estimates[key] = None, why
        else:
            joint[n, key] = joint_estimate
    return joint


def _point(
    comparison: _PointComparison, corrected: dict[MetricKey, float], joint: dict[MetricKey, Estimate]
) -> record.Point:
    measures = {key: _measure(comparison, key, corrected, joint) for key in comparison.estimates}
    return record.Point(
        factors=dict(comparison.point.factors),
        differences=[record.Difference(**vars(difference)) for difference in differences(comparison.point)],
        runs=_runs(comparison),
        in_turn=comparison.valid is not None and comparison.valid.in_turn,
        states=[record.InState(state=state, a=of_a, b=of_b) for state, of_a, of_b in comparison.valid.by_state]
        if comparison.valid
        else [],
        dropped=comparison.valid.dropped if comparison.valid else 0,
        unsettled=_unsettled(comparison.valid) if comparison.valid else None,
        judged=_judged(comparison, measures),
        measures=list(measures.values()),
    )


def _unsettled(valid: ValidRuns) -> record.Unsettled | None:
    a, b = ([reading.unsettled for reading in side if reading.unsettled is not None] for side in (valid.a, valid.b))
    if not a or not b or not any((*a, *b)):
        return None
    return record.Unsettled(
        a=sum(a), of_a=len(a), b=sum(b), of_b=len(b), p=shares_differ(sum(a), len(a), sum(b), len(b))
    )


def _judged(comparison: _PointComparison, measures: dict[MetricKey, record.Measure]) -> list[record.Judged]:
    def refused(verdict: record.Verdict, reasons: list[str]) -> list[record.Judged]:
        names = [n for n in comparison.point.a[0].modes if n in comparison.point.b[0].modes] or [""]
        return [
            record.Judged(workload=name, verdict=verdict, reasons=reasons, decided_by=None, because=None)
            for name in names
        ]

    if comparison.invalid:
        return refused("invalid", comparison.invalid)
    if comparison.obstacles:
        return refused("cannot be compared", comparison.obstacles)
    if comparison.doubts:
        return refused("cannot tell", comparison.doubts)
    judged = []
    for workload, (key, because) in comparison.primary.items():
        measure = measures.get(key)
        if measure is None or measure.interval is None:
            verdict, why = "cannot be compared", [f"{key[1]}: {measure.unmeasured if measure else 'not measured'}"]
        else:
            verdict, why = (
                _verdict_word(measure.interval.percent, measure.better) if measure.shown else "no difference shown",
                [],
            )
        judged.append(
            record.Judged(workload=workload, verdict=verdict, reasons=why, decided_by=key[1], because=because)
        )
    return judged


def _verdict_word(difference: float, better_is: str) -> record.Verdict:
    return "faster" if (difference > 0) == (better_is == "higher") else "slower"


def _measure(
    comparison: _PointComparison, key: MetricKey, corrected: dict[MetricKey, float], joint: dict[MetricKey, Estimate]
) -> record.Measure:
    result, unmeasured = comparison.estimates[key]
    workload, metric = key
    assert comparison.valid is not None
    return record.Measure(
        workload=workload,
        metric=metric,
        unit="/s" if metric.endswith("_per_s") else "ns",
        better=better(metric),
        a=[reading.values.get(key) for reading in comparison.valid.a],
        b=[reading.values.get(key) for reading in comparison.valid.b],
        interval=interval_of(result, corrected[key], joint[key]) if result else None,
        unmeasured=unmeasured,
        beyond_a=beyond(comparison.valid.a, key),
        beyond_b=beyond(comparison.valid.b, key),
        shown=result is not None and corrected[key] <= LEVEL,
    )


def interval_of(result: Estimate, corrected: float, joint: Estimate | None = None) -> record.Interval:
    """The estimate in the form of the document. `corrected`: its p-value, corrected for the number of tests. `joint`: with the interval that
    holds together with others; None: there are no others."""
    joint = joint or result
    return record.Interval(
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


def _runs(comparison: _PointComparison) -> list[record.Run]:
    """All runs, in the order of time."""
    valid = comparison.valid
    sides = (valid.a, valid.b) if valid else ()
    place = {id(reading): n for side in sides for n, reading in enumerate(side)}
    runs = [("a", reading) for reading in comparison.point.a] + [("b", reading) for reading in comparison.point.b]
    runs.sort(key=lambda run: (run[1].started is None, run[1].started.timestamp() if run[1].started else 0))
    return [
        record.Run(
            side=side,
            path=str(reading.path),
            started=reading.started,
            place=place.get(id(reading)),
            reasons=reading.reasons or reading.included,
            relaxed=reading.relaxed,
        )
        for side, reading in runs
    ]


def _whole(comparisons: Sequence[_PointComparison]) -> list[record.Whole]:
    """Each workload over the points that the same metric decides."""
    parts: dict[MetricKey, list[Estimate]] = {}
    for comparison in comparisons:
        for key, _ in comparison.primary.values():
            if (result := comparison.estimates.get(key, (None, None))[0]) is not None:
                parts.setdefault(key, []).append(result)
    rows = []
    for (workload, metric), estimates in parts.items():
        if len(estimates) > 1:
            result = whole(estimates)
            is_shown = result.p <= LEVEL
            verdict = _verdict_word(result.difference, better(metric)) if is_shown else "no difference shown"
            rows.append(
                record.Whole(
                    workload=workload,
                    verdict=verdict,
                    metric=metric,
                    points=len(estimates),
                    interval=interval_of(result, result.p),
                )
            )
    return rows


def _warnings(comparison: _PointComparison) -> list[str]:
    readings = [*comparison.point.a, *comparison.point.b]
    warnings = [f"{reading.path}: {problem}" for reading in readings for problem in reading.problems]
    valid = comparison.valid
    if valid is None:
        return warnings
    invalid = [reading for reading in readings if reading.reasons]
    warnings += [f"{reading.path}: invalid, excluded: {reading.reasons[0]}" for reading in invalid]
    if comparison.doubts:
        return warnings
    warnings += [f"{reading.path}: excluded, it has no partner in time" for reading in valid.unpaired]
    if included := [reading for reading in readings if reading.included]:
        warnings.append(f"{len(included)} of {len(readings)} runs are invalid and included (--include-invalid)")
        warnings += [f"{reading.path}: invalid, included: {reading.included[0]}" for reading in included]
    warnings += obstacles.warnings(valid.a, valid.b)
    if unsettled := _unsettled(valid):
        warnings.append(
            f"not settled: {unsettled.a} of {unsettled.of_a} runs of A and {unsettled.b} of {unsettled.of_b} of B; "
            + ("the shares differ" if unsettled.p <= LEVEL else "the shares may be the same")
            + f" (exact test, p = {unsettled.p:.2g})"
        )
    if valid.method == "assumed":
        warnings.append(
            f"too few runs to measure the spread between identical runs: {valid.between:.0%} is assumed (--between-runs); "
            "the windows of one run do not show it"
        )
    if not valid.in_turn:
        warnings.append("A and B did not alternate: a drift of the host looks like a difference")
    return warnings


def _nothing(a: Side, b: Side) -> record.Point:
    """The point of two sides that have no point in common."""
    reason = "no point in common: the runs of A and those of B vary in different keys"
    judged = record.Judged(workload="", verdict="cannot be compared", reasons=[reason], decided_by=None, because=None)
    everything = _PointComparison(Point((), list(a.readings), list(b.readings)), [])
    return record.Point(
        factors={},
        differences=[],
        runs=_runs(everything),
        in_turn=False,
        states=[],
        dropped=0,
        judged=[judged],
        measures=[],
    )
