"""Conditions of a comparison (`--fail-if`) and how they are decided; shares in percent and times from texts."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from windtunnel.engine.reasons import fault
from windtunnel.errors import UserError
from windtunnel.measure.compare.comparison_record import NO_VERDICT, Comparison, Judged, Measure, Point
from windtunnel.measure.compare.obstacles import MOST_INVALID
from windtunnel.measure.compare.points import describe_factors
from windtunnel.measure.compare.reading import METRICS
from windtunnel.scenario.quantities import Quantity
from windtunnel.stats.differences import LEAST_LOOKED_AT, LEAST_RUNS, LEVEL
from windtunnel.stats.shares import shares_differ

EXAMPLE = "as in slower:5%, faster:10%, p99:+10%, responses_per_s:-5%, server.app_rx.work_ns:+3%, or invalid"
WHOLE = 100
"""Percent. No metric is below 0."""
_TEXT = re.compile(r"([A-Za-z0-9_.]+)(?::([+-]?)([0-9]{1,6}(?:\.[0-9]{1,6})?)%)?", re.ASCII)


@dataclass(frozen=True)
class Condition:
    """A difference that is beyond `percent` in the direction of `sign`, by the whole of its interval."""

    text: str
    subject: str
    """One of slower, faster, invalid and regression, or a metric."""
    sign: int
    percent: float


def conditions(texts: Sequence[str]) -> list[Condition]:
    """The conditions in these texts. Raises UserError for a text that is no condition."""
    return [_parse_condition_of_runs(text) for text in texts]


def parse_condition(text: str, subjects: Collection[str], example: str) -> Condition:
    """The condition in a text: one of `subjects`, with or without a percentage, or a metric with a signed one. Raises UserError for any other
    text, for 0%, which no run can show, and for a metric that falls by more than all of it."""
    match = _TEXT.fullmatch(text)
    subject, sign, number = match.groups() if match else ("", "", None)
    if not ((subject in subjects and not sign) or (subject in METRICS and number is not None and sign)):
        raise UserError(f"--fail-if {text}: not a condition", remedy=example)
    percent = float(number or 0)
    if number and not percent:
        raise UserError(f"--fail-if {text}: 0% is no threshold", remedy=f"more than 0%, {example}")
    if sign == "-" and percent >= WHOLE:
        raise UserError(f"--fail-if {text}: no metric falls by {percent:g}%", remedy=f"less than {WHOLE}%, {example}")
    return Condition(text, subject, -1 if sign == "-" else 1, percent)


@dataclass(frozen=True)
class Decided:
    """What follows from the conditions, one sentence for each."""

    met: list[str]
    """Conditions that are met."""
    doubtful: list[str]
    """Conditions of which these runs cannot tell."""


def decide(conditions: Sequence[Condition], comparison: Comparison) -> Decided:
    """A condition is met if the whole interval lies beyond the threshold, and not met if nothing of it does. Otherwise these runs cannot
    tell; nor can they if a point has no verdict. A condition without a threshold asks for a difference that is shown: it is met or not.

    The interval of a metric holds together with those of all workloads and points for which the condition asks: a build without a difference
    fails in at most 1% of the comparisons.

    Nor can they tell if more runs of B than of A were left out than chance explains: they may be the slow ones.

    A percentile that is beyond any response in most runs of B, and in none of A, has risen beyond any threshold.

    The interval alone decides, whatever other metrics there are: one that somebody names is not drawn from them. It decides nothing if it
    rests on an assumed spread. Any condition is met if B is broken: a crash is no noise.
    """
    decisions = list(_decisions(conditions, comparison)) if conditions else []
    met, doubtful = (
        list(dict.fromkeys(reason for is_met, reason in decisions if is_met is state)) for state in (True, None)
    )
    return Decided(met, doubtful)


def until_of(conditions: Sequence[Condition], pairs: int | None) -> Sequence[Condition]:
    """The conditions by which pairs end, of which there are at most `pairs`. Raises UserError if there are none that pairs could leave in
    doubt, or too few pairs for any look."""
    if pairs is not None and pairs < LEAST_LOOKED_AT:
        raise UserError(
            f"--pairs {pairs}: too few to decide by --until-decided", remedy=f"--pairs {LEAST_LOOKED_AT} or more"
        )
    if not conditions:
        raise UserError("--until-decided: nothing is to be decided", remedy="--fail-if CONDITION, as slower:2%")
    for condition in conditions:
        if condition.subject != "invalid" and not condition.percent:
            raise UserError(
                f"--until-decided: --fail-if {condition.text} has no threshold",
                remedy=f"--fail-if {condition.text}:2%, or without --until-decided",
            )
    return conditions


def _parse_condition_of_runs(text: str) -> Condition:
    subjects = ("invalid",) if text == "invalid" else ("slower", "faster")
    return parse_condition(text, subjects, EXAMPLE)


Decision = tuple[bool | None, str]
"""Whether a condition is met, None: cannot tell; and why."""


def _decisions(conditions: Sequence[Condition], comparison: Comparison) -> Iterator[Decision]:
    for point in comparison.points:
        where = f"{describe_factors(point.factors.items())}: " if point.factors else ""
        if broken := _fault_of_b(point):
            yield True, f"{where}{broken}"
            continue
        if doubt := _more_left_out_of_b(point):
            yield None, f"{where}{doubt}"
        for judged in point.judged:
            name = f"{where}{judged.workload}: " if judged.workload else where
            if judged.verdict in NO_VERDICT:
                refused = judged.verdict == "invalid" and any(
                    condition.subject == "invalid" for condition in conditions
                )
                yield refused or None, f"{name}{judged.verdict}: {'; '.join(judged.reasons)}"
                continue
            for condition in conditions:
                if condition.subject in ("slower", "faster"):
                    yield _decision(condition, _decider(judged, point), name)
        for condition in conditions:
            measures = [measure for measure in point.measures if measure.metric == condition.subject]
            for measure in measures:
                yield _decision(condition, measure, f"{where}{measure.workload}: " if measure.workload else where)
            if condition.subject in METRICS and not measures and not any(judged.reasons for judged in point.judged):
                yield None, f"{where}{condition.text}: not measured"


def _fault_of_b(point: Point) -> str | None:
    """The fault that ends most runs of B, at least LEAST_RUNS of them, and none of A, and is not the host's, as a sentence."""
    a, b = ([fault(run.reasons) for run in point.runs if run.side == side] for side in ("a", "b"))
    faults = [reason for reason in b if reason]
    if any(a) or len(faults) < LEAST_RUNS or len(faults) <= MOST_INVALID * len(b):
        return None
    return f"B is broken, in {len(faults)} of {len(b)} runs, and A is not: {faults[0]}"


def _more_left_out_of_b(point: Point) -> str | None:
    """That more runs of B than of A are not in the difference, as a sentence, if the shares differ by an exact test."""
    a, b = ([run.place is None for run in point.runs if run.side == side] for side in ("a", "b"))
    if not a or not b or sum(b) / len(b) <= sum(a) / len(a):
        return None
    p = shares_differ(sum(a), len(a), sum(b), len(b))
    if p > LEVEL:
        return None
    return f"{sum(b)} of {len(b)} runs of B were left out, and {sum(a)} of {len(a)} of A (exact test, p = {p:.2g})"


def _decision(condition: Condition, measure: Measure, name: str) -> Decision:
    interval, threshold = measure.interval, condition.percent
    rises = condition.sign > 0
    if condition.subject in ("slower", "faster"):
        rises = (condition.subject == "faster") == (measure.better == "higher")
    if interval is None:
        lost = (measure.beyond_b > len(measure.b) / 2 and not measure.beyond_a) or None
        return lost and rises, f"{name}{condition.text}: {measure.unmeasured}"
    low, high = interval.joint_low, interval.joint_high
    nearest, farthest = (low, high) if rises else (-high, -low)
    sentence = f"{name}{condition.text}: {measure.metric} {interval.percent:+.1f}% [{low:+.1f} .. {high:+.1f}]"
    if interval.method == "assumed":
        needed = f"{LEAST_RUNS} pairs in one state of the host are needed"
        return None, f"{sentence}, with an assumed spread between runs: {needed}"
    if nearest > threshold:
        return True, sentence
    if farthest <= threshold or not threshold:
        return False, sentence
    smallest = interval.smallest if rises else fall(interval.smallest)
    return None, f"{sentence}, smallest detectable difference: {smallest:.1f}%"


def fall(rise: float) -> float:
    """The fall that is as far from 0 as this rise, both in percent and above 0: they are one ratio, and its inverse."""
    return 100 * rise / (100 + rise)


def _decider(judged: Judged, point: Point) -> Measure:
    return next(m for m in point.measures if m.workload == judged.workload and m.metric == judged.decided_by)


_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)%", re.ASCII)
MOST_PERCENT = 100


def percent(option: str, text: str) -> float:
    """ "5%" is 0.05. Raises UserError."""
    match = _PERCENT.fullmatch(text)
    if match is None or not 0 < float(match[1]) <= MOST_PERCENT:
        raise UserError(f"{option} {text}: not above 0% and at most {MOST_PERCENT}%", remedy=f"as in {option} 5%")
    return float(match[1]) / 100


def seconds(option: str, text: str) -> float:
    """ "10min" is 600. Raises UserError."""
    try:
        return Quantity("duration", "1s", "24h").read(text) / 1e9
    except ValueError as error:
        raise UserError(f"{option}: {error}", remedy=f"as in {option} 10min") from None
