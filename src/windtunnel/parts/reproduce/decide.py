"""Verdicts: from what the commands have written, the quantities; from their intervals and bounds, what holds."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import duckdb

from windtunnel.errors import UserError
from windtunnel.measure.study.sql import BOUNDS, first_line, lock
from windtunnel.parts.reproduce.claim import Claim, Quantity
from windtunnel.parts.reproduce.claim_record import Finding, Outcome
from windtunnel.stats.mean import DECIDING
from windtunnel.stats.median import interval

MOST_CASES = 100


def findings(claim: Claim, directory: Path) -> list[Finding]:
    """A finding for each case of each quantity. Its query reads files of the directory, and no others. Raises UserError if it fails."""
    place = str(directory.resolve()).replace("'", "''")
    with duckdb.connect(config=dict(BOUNDS)) as connection:
        connection.execute(f"SET allowed_directories = ['{place}']")
        lock(connection)
        return [finding for quantity in claim.quantity for finding in _of_quantity(claim, quantity, place, connection)]


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


def _of_quantity(
    claim: Claim, quantity: Quantity, place: str, connection: duckdb.DuckDBPyConnection
) -> Iterable[Finding]:
    try:
        result = connection.execute(quantity.sql.replace("{place}", place))
        names, rows = [column[0] for column in result.description or ()], result.fetchall()
    except duckdb.Error as error:
        raise UserError(f'claim {claim.id}, "{quantity.what}": {first_line(error)}', remedy="mend its sql") from None
    if "value" not in names:
        raise UserError(
            f'claim {claim.id}, "{quantity.what}": the query has no column "value"', remedy="select ... as value"
        )
    cases: dict[str, list[float]] = {}
    for row in rows:
        cells: dict[str, Any] = dict(zip(names, row, strict=True))
        values = cases.setdefault(str(cells.get("case", "")), [])
        if cells["value"] is not None:
            values.append(float(cells["value"]))
    for case, values in list(cases.items())[:MOST_CASES] or [("", [])]:
        yield _judged(quantity, f"{quantity.what}, {case}" if case else quantity.what, values)


def _judged(quantity: Quantity, what: str, values: list[float]) -> Finding:
    """Exact values lie within the bounds themselves; of others the 99% interval of the median does. Runs of a study are in a random order."""
    low: float | None
    high: float | None
    if quantity.exact:
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
