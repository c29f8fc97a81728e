"""The page of `windtunnel share reproduce`: the verdict first, then the pictures, then every comparison and trial."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from sharing.figure import Figure
from sharing.record import FigureRecord
from sharing.trials import Row
from windtunnel.finding import Finding
from windtunnel.format import percent
from windtunnel.views.pages.page import environment, filled, host_lines, pretty

STATES = {"holds": "valid", "does not hold": "invalid", "not shown": "emulated"}
MOST_ARMS = 4
_ARRIVALS = {
    "client": "arrivals: open-loop client on a core of its own",
    "inside": "arrivals: made by the tenants, no network",
    "closed loop": "closed loop: a fixed number of requests in flight",
}


@dataclass(frozen=True)
class Line:
    """One arm in the table: medians, least and greatest of its trials that count."""

    cells: list[tuple[str, str]]
    trials: int
    excluded: int


@dataclass(frozen=True)
class Said:
    """A finding of the diagnosis, over all trials that it was made in."""

    title: str
    trials: int
    arms: str
    evidence: str
    remedy: str


def render(figure: Figure, record: FigureRecord, rows: Sequence[Row]) -> str:
    """The page as HTML."""
    pictures = figure.pictures(rows)
    return filled(
        "sharing.html",
        {picture.place: picture.plot for picture in pictures},
        package="sharing",
        figure=figure,
        record=record,
        states=STATES,
        pictures=pictures,
        arrivals=[_ARRIVALS[how] for how in dict.fromkeys(row.arrivals for row in rows)],
        client=any(row.arrivals != "inside" for row in rows),
        modes=list(dict.fromkeys(row.mode for row in rows)),
        headings=[heading for _, heading, _ in figure.columns()],
        lines=_lines(figure, rows),
        said=_said(rows),
        trials=len(rows),
        excluded=sum(row.excluded is not None for row in rows),
        own=_own(rows),
        host=host_lines(record.host),
        facts=pretty(record.host),
    )


def _said(rows: Sequence[Row]) -> list[Said]:
    """By code; the trials of a finding, and its words in the first of them."""
    by_code: dict[str, list[tuple[Row, Finding]]] = {}
    for row in rows:
        for finding in row.findings:
            by_code.setdefault(finding.code, []).append((row, finding))
    found = []
    for of in by_code.values():
        arms = list(dict.fromkeys(row.arm for row, _ in of))
        words = "; ".join(arms[:MOST_ARMS]) + (f"; and {len(arms) - MOST_ARMS} more" if len(arms) > MOST_ARMS else "")
        first = of[0][1]
        found.append(
            Said(first.title, len({(row.block, row.arm) for row, _ in of}), words, first.evidence, first.remedy)
        )
    return found


def _own(rows: Sequence[Row]) -> str:
    shares = [row.own_share for row in rows if row.own_share is not None]
    return f"{percent(median(shares))} (least {percent(min(shares))})" if shares else "not available"


def _lines(figure: Figure, rows: Sequence[Row]) -> list[Line]:
    """By arm, in the order of their factors."""
    arms: dict[str, list[Row]] = {}
    for row in rows:
        arms.setdefault(row.arm, []).append(row)
    lines = []
    for label in sorted(arms, key=lambda arm: _key(figure, arms[arm][0])):
        of = arms[label]
        counted = [row for row in of if row.excluded is None]
        cells = [_cell([getattr(row, field) for row in counted or of], kind) for field, _, kind in figure.columns()]
        lines.append(Line(cells, len(of), len(of) - len(counted)))
    return lines


def _key(figure: Figure, row: Row) -> list[tuple[bool, Any]]:
    values = (getattr(row, field) for field, _, _ in figure.columns())
    return [(isinstance(value, str), value) for value in values if isinstance(value, str | int)]


def _cell(found: list[Any], kind: str) -> tuple[str, str]:
    """The median in the words of its filter, and its extent."""
    present = [value for value in found if value is not None]
    if not present:
        return "–", ""
    if not kind or isinstance(present[0], str):
        return str(present[0]), ""
    show = environment().filters[kind]
    if min(present) == max(present):
        return show(present[0]), ""
    middle = median(present)
    least, most = (show(value).replace(" ", "\u00a0") for value in (min(present), max(present)))
    return show(round(middle) if kind == "count" else middle), f"{least} to\u00a0{most}"
