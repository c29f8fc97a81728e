"""Verdicts: from what the commands have written, the quantities; from their intervals and bounds, what holds."""

from collections.abc import Iterable, Sequence
from statistics import median

from windtunnel.errors import UserError
from windtunnel.parts.reproduce.claim import Claim, Quantity
from windtunnel.parts.reproduce.claim_record import Finding, Outcome
from windtunnel.parts.reproduce.queries import Queries
from windtunnel.stats.mean import DECIDING
from windtunnel.stats.median import interval

MOST_CASES = 100


def findings(claim: Claim, queries: Queries) -> list[Finding]:
    """A finding for each case of each quantity. Raises UserError if a query fails."""
    return [finding for quantity in claim.quantity for finding in _of_quantity(quantity, queries)]


def verdict(claim: Claim, results: Sequence[Finding]) -> tuple[Outcome, str]:
    """A claim holds if all of its findings do, and does not hold if one does not; and why."""
    contradicting = [finding.what for finding in results if finding.outcome == "does not hold"]
    undecided = [finding.what for finding in results if finding.outcome == "not shown"]
    if contradicting:
        return "does not hold", f"contradicted by: {_listed(contradicting)}"
    if undecided:
        return "not shown", f"the intervals do not decide: {_listed(undecided)}"
    because = f"in all of {len(results)} cases" if len(results) > 1 else results[0].what
    return ("modelled" if claim.modelled else "holds"), because


def _of_quantity(quantity: Quantity, queries: Queries) -> Iterable[Finding]:
    cases: dict[str, list[float]] = {}
    incomplete: set[str] = set()
    for cells in queries.rows(quantity.what, quantity.sql, ["value"], ["case"]):
        case = str(cells.get("case", ""))
        values = cases.setdefault(case, [])
        if cells["value"] is None:
            incomplete.add(case)
        else:
            values += queries.numbers(quantity.what, cells, ["value"])
    if len(cases) > MOST_CASES:
        raise UserError(f'"{quantity.what}" has {len(cases)} cases, more than {MOST_CASES}', remedy="aggregate")
    for case, values in cases.items() or [("", [])]:
        yield _judged(quantity, f"{quantity.what}, {case}" if case else quantity.what, values, case in incomplete)


def _judged(quantity: Quantity, what: str, values: list[float], incomplete: bool) -> Finding:
    """Exact values lie within the bounds themselves, and none may be missing; of others the 99% interval of the median does. Runs of a study are in a
    random order."""
    low: float | None
    high: float | None
    if quantity.exact and incomplete:
        low = high = None
    elif quantity.exact:
        low, high = min(values, default=None), max(values, default=None)
    else:
        low, high = interval(values, DECIDING)
    return Finding(
        what=what,
        at_least=quantity.at_least,
        at_most=quantity.at_most,
        values=len(values),
        median=median(values) if values else None,
        low=low,
        high=high,
        outcome=_outcome(quantity, low, high),
    )


def _outcome(quantity: Quantity, low: float | None, high: float | None) -> Outcome:
    if low is None or high is None:
        return "not shown"
    least = float("-inf") if quantity.at_least is None else quantity.at_least
    most = float("inf") if quantity.at_most is None else quantity.at_most
    if least <= low and high <= most:
        return "holds"
    if quantity.exact or high < least or low > most:
        return "does not hold"
    return "not shown"


def _listed(names: Sequence[str], most: int = 4) -> str:
    return "; ".join([*names[:most], *([f"and {len(names) - most} more"] if len(names) > most else [])])
