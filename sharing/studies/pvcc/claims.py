"""Claims, and their verdicts: holds, does not hold, or not shown.

Trials of one block are pairs, run within seconds of each other in random order. A ratio is judged by its 99% interval
(`windtunnel.stats.differences`). A claim holds where the whole interval is beyond the promised value, does not hold where the whole
interval is short of it, and is not shown where the interval includes it, or with too few pairs.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import exp
from typing import Literal

from windtunnel.api.histograms import LEAST_RUNS, paired
from windtunnel.api.settings import Part

Outcome = Literal["holds", "does not hold", "not shown"]
MOST_LISTED = 4
"""Comparisons that a verdict names; the page and the table have them all."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, by its number there, or by its figure."""

    number: str
    words: str


class Finding(Part):
    """One comparison: `ratio` is B over A (or over a limit), with its interval."""

    what: str
    promised: str
    outcome: Outcome
    pairs: int
    ratio: float | None = None
    low: float | None = None
    high: float | None = None


class Verdict(Part):
    """Of one claim, from its findings."""

    number: str
    claim: str
    outcome: Outcome
    findings: list[Finding]

    @property
    def title(self) -> str:
        """ "Claim 2", or "Fig. 6" where no number of the paper says it."""
        return f"Claim {self.number}" if self.number[:1].isdigit() else self.number

    because: str


def above(what: str, a: Sequence[float], b: Sequence[float], bound: float = 1.0) -> Finding:
    """Whether B / A lies above `bound`. `a[i]` and `b[i]` are of one block; all are positive."""
    return _judged(what, a, b, f"above {bound:g}", lambda low, high: _outcome(low > bound, high <= bound))


def below(what: str, a: Sequence[float], b: Sequence[float], bound: float = 1.0) -> Finding:
    """Whether B / A lies below `bound`."""
    return _judged(what, a, b, f"below {bound:g}", lambda low, high: _outcome(high < bound, low >= bound))


def under(what: str, values: Sequence[float], limit: float) -> Finding:
    """Whether the values are below a limit in the same unit; the ratio is to the limit."""
    return below(what, [limit] * len(values), values)


def verdict(claim: Claim, findings: Iterable[Finding]) -> Verdict:
    """A claim holds where all of its findings do, and does not where one does not."""
    found = list(findings)
    short = [finding for finding in found if finding.outcome == "does not hold"]
    unclear = [finding for finding in found if finding.outcome == "not shown"]
    if short:
        outcome, because = "does not hold", f"contradicted by: {_listed(short)}"
    elif unclear or not found:
        outcome, because = "not shown", f"undecided: {_listed(unclear)}" if unclear else "no comparison"
    else:
        outcome, because = "holds", f"in all of {len(found)} comparisons" if len(found) > 1 else _listed(found)
    return Verdict(number=claim.number, claim=claim.words, outcome=outcome, findings=found, because=because)


def _listed(findings: list[Finding]) -> str:
    more = len(findings) - MOST_LISTED
    return "; ".join(
        [*(finding.what for finding in findings[:MOST_LISTED]), *([f"and {more} more"] if more > 0 else [])]
    )


def _outcome(yes: bool, no: bool) -> Outcome:
    return "holds" if yes else "does not hold" if no else "not shown"


def _judged(
    what: str, a: Sequence[float], b: Sequence[float], promised: str, outcome: Callable[[float, float], Outcome]
) -> Finding:
    usable = [(x, y) for x, y in zip(a, b, strict=True) if x > 0 and y > 0]
    if len(usable) < LEAST_RUNS:
        return Finding(what=what, promised=promised, outcome="not shown", pairs=len(usable))
    estimate = paired([x for x, _ in usable], [y for _, y in usable])
    low, high = exp(estimate.low), exp(estimate.high)
    return Finding(
        what=what,
        promised=promised,
        outcome=outcome(low, high),
        pairs=len(usable),
        ratio=exp(estimate.difference),
        low=low,
        high=high,
    )
