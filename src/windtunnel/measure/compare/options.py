"""Options of a comparison from texts: `--fail-if`, shares in percent, times."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from windtunnel.errors import UserError
from windtunnel.measure.compare.model import Comparison, Judged, Measure, Point
from windtunnel.measure.compare.points import words
from windtunnel.measure.compare.reading import METRICS
from windtunnel.scenario.quantities import Quantity

EXAMPLE = "as in slower:5%, faster:10%, p99:+10%, responses_per_s:-5%, server.app_rx.work_ns:+3%, or invalid"
_TEXT = re.compile(r"([A-Za-z0-9_.]+)(?::([+-]?)([0-9]{1,6}(?:\.[0-9]{1,6})?)%)?", re.ASCII)


@dataclass(frozen=True)
class Condition:
    """A difference that is beyond `percent` in the direction of `sign`, by the whole of its interval."""

    text: str
    what: str
    """slower, faster, invalid, or a metric."""
    sign: int
    percent: float


def conditions(texts: Sequence[str]) -> list[Condition]:
    """Raises UserError for one that means nothing."""
    return [_condition(text) for text in texts]


def failures(asked: Sequence[Condition], comparison: Comparison) -> list[str]:
    """The conditions that are met. With any condition, a comparison without a verdict fails too: it could hide the difference."""
    return list(dict.fromkeys(_failures(asked, comparison))) if asked else []


def _condition(text: str) -> Condition:
    match = _TEXT.fullmatch(text)
    what, sign, number = match.groups() if match else ("", "", None)
    verdict = what in ("slower", "faster")
    if not (
        (what == "invalid" and number is None)
        or (verdict and not sign)
        or (what in METRICS and number is not None and sign)
    ):
        raise UserError(f"--fail-if {text}: not a condition", remedy=EXAMPLE)
    return Condition(text, what, -1 if sign == "-" else 1, float(number or 0))


def _failures(asked: Sequence[Condition], comparison: Comparison) -> Iterator[str]:
    for point in comparison.points:
        where = f"{words(point.factors.items())}: " if point.factors else ""
        for judged in point.judged:
            name = f"{where}{judged.workload}: " if judged.workload else where
            if judged.reasons:
                yield f"{name}{judged.verdict}: {judged.reasons[0]}"
                continue
            for condition in asked:
                if condition.what in ("slower", "faster"):
                    yield from (f"{name}{why}" for why in _beyond(condition, _decider(judged, point)))
        for condition in asked:
            measures = [measure for measure in point.measures if measure.metric == condition.what]
            for measure in measures:
                name = f"{where}{measure.workload}: " if measure.workload else where
                yield from (f"{name}{why}" for why in _beyond(condition, measure))
            if condition.what in METRICS and not measures and not any(judged.reasons for judged in point.judged):
                yield f"{where}{condition.text}: not measured"


def _beyond(condition: Condition, measure: Measure) -> Iterator[str]:
    found = measure.interval
    if found is None:
        yield f"{condition.text}: {measure.unmeasured}"
        return
    sign = condition.sign
    if condition.what in ("slower", "faster"):
        sign = 1 if (condition.what == "faster") == (measure.better == "higher") else -1
    beyond = found.low > condition.percent if sign > 0 else found.high < -condition.percent
    if beyond and measure.shown:
        yield f"{condition.text}: {measure.metric} {found.percent:+.1f}% [{found.low:+.1f} .. {found.high:+.1f}]"


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
