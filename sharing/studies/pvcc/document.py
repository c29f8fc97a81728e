"""A figure as a document: the verdicts, the pictures, every comparison, what the diagnosis says, and the trials."""

from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any

from pvcc.claims import Verdict
from pvcc.figure import Figure
from pvcc.record import FigureRecord
from pvcc.trials import Row
from windtunnel.api.documents import (
    Chart,
    Column,
    Document,
    Marked,
    Panel,
    Section,
    Sentence,
    Table,
    Tone,
    columns_of,
    groups_of,
    host_section,
)
from windtunnel.api.documents import format as fmt
from windtunnel_sharing.documents import findings_sections

TONES: dict[str, Tone] = {"holds": "good", "does not hold": "bad", "not shown": "warning"}
MOST_FAILED = 5
"""Trials that could not be run, whose reasons are shown."""
_ARRIVALS = {
    "client": "arrivals: open-loop client on a core of its own",
    "inside": "arrivals: made by the tenants, no network",
    "closed loop": "closed loop: a fixed number of requests in flight",
}
_WRITTEN: dict[str, Callable[[Any], str]] = {
    "count": lambda value: fmt.count(round(value)),
    "number": fmt.number,
    "percent": fmt.percent,
    "duration": fmt.duration,
    "rate": fmt.rate,
    "size": fmt.size,
}
_LINES: tuple[tuple[str, Callable[[list[Any]], Any]], ...] = (("median", median), ("least", min), ("greatest", max))


def figure_document(
    figure: Figure, record: FigureRecord, rows: Sequence[Row], files: Sequence[tuple[str, str]] = ()
) -> Document:
    """What `windtunnel share reproduce` shows, and its report."""
    client = "" if all(row.arrivals == "inside" for row in rows) else f", client on CPU {record.client_cpu}"
    return Document(
        kind=f"share reproduce {record.figure}",
        title=figure.title,
        question=figure.question,
        at=record.started,
        how=[
            f"{_blocks(record)}{', quick' if record.quick else ''}",
            f"tenants on CPU {record.tenant_cpu}{client}",
        ],
        notes=[*_notes(record, rows), *figure.notes(rows)],
        warnings=list(_warnings(record)),
        verdict=Panel("verdicts", [_verdict_sentence(verdict) for verdict in record.verdicts]),
        blocks=[
            *(Section(p.title, [Chart(p.plot)], about=p.caption) for p in figure.pictures(rows)),
            *(_comparison_section(verdict) for verdict in record.verdicts if verdict.findings),
            *_findings(rows),
            Section(
                "How this differs from the paper", [Sentence(difference, detail=True) for difference in figure.differs]
            ),
            Section(
                "Figures",
                [_trial_table(figure, rows)],
                about="Of the trials that count, or of all if none does.",
                terminal="absent",
            ),
            host_section(record.host, record.versions, [("Seed", str(record.seed))]),
        ],
        files=files,
        made_from="Every trial is a row of trials.jsonl and trials.parquet beside this page. What the figures test: the page “How cores are "
        "shared” of the documentation; the rules of the findings: its page “Sharing”.",
    )


def _blocks(record: FigureRecord) -> str:
    return f"{record.blocks} blocks" if record.blocks > 1 else f"block {record.first_block} alone"


def _notes(record: FigureRecord, rows: Sequence[Row]) -> Iterator[str]:
    excluded = sum(row.excluded is not None for row in rows)
    yield (
        f"{len(rows)} trials; {excluded} excluded, because other threads ran on the core: verdicts, plots and medians do not use them"
    )
    yield f"own share of the tenants' core: {_own_share(rows)}"
    yield from (_ARRIVALS[how] for how in dict.fromkeys(row.arrivals for row in rows))
    yield f"tenants: {'; '.join(dict.fromkeys(row.mode for row in rows))}"
    yield from (f"{name}: {value}" for name, value in record.setting.items())


def _own_share(rows: Sequence[Row]) -> str:
    shares = [row.own_share for row in rows if row.own_share is not None]
    return f"{fmt.percent(median(shares))} (least {fmt.percent(min(shares))})" if shares else "not available"


def _warnings(record: FigureRecord) -> Iterator[str]:
    if record.interrupted:
        yield "interrupted: judged by the trials that had finished"
    if failed := record.failed:
        more = f"; and {len(failed) - MOST_FAILED} more" if len(failed) > MOST_FAILED else ""
        trials = f"{len(failed)} trial{'s' if len(failed) > 1 else ''}"
        yield f"{trials} could not be run: {'; '.join(failed[:MOST_FAILED])}{more}"


def _verdict_sentence(verdict: Verdict) -> Sentence:
    outcome = Marked(verdict.outcome, TONES[verdict.outcome], strong=True)
    because = f"{verdict.because[:1].upper()}{verdict.because[1:]}."
    return Sentence(f"{verdict.title}: ", outcome, f". “{verdict.claim}.” {because}")


def _comparison_section(verdict: Verdict) -> Section:
    column = columns_of(verdict.findings)
    table = Table(
        [
            column("comparison", lambda f: f.what, words=True),
            column("promised", lambda f: f.promised, words=True),
            column("ratio", lambda f: fmt.DASH if f.ratio is None else f"{f.ratio:.3g}"),
            column("99% interval", lambda f: fmt.DASH if f.low is None else f"{f.low:.3g} to {f.high:.3g}"),
            column("pairs", lambda f: str(f.pairs)),
            column("outcome", lambda f: Marked(f.outcome, TONES[f.outcome]), words=True),
        ]
    )
    return Section(f"Comparisons: {verdict.title}", [table], terminal="titled")


def _findings(rows: Sequence[Row]) -> Iterator[Section]:
    """The findings on the cores that were sliced, by the observations of the slicers and the tenants in each trial."""
    findings = [(row.arm, finding) for row in rows for finding in row.findings]

    def seen_in(code: str) -> str:
        trials = sum(any(finding.code == code for finding in row.findings) for row in rows)
        return f", in {trials} of {len(rows)} trials"

    return findings_sections(findings, seen_in)


def _trial_table(figure: Figure, rows: Sequence[Row]) -> Table:
    """Three lines for each arm, in the order of their factors: median, least and greatest of its trials that count."""
    by_arm: dict[str, list[Row]] = {}
    for row in rows:
        by_arm.setdefault(row.arm, []).append(row)
    arms = sorted(by_arm.values(), key=lambda arm: _factors(figure, arm[0]))
    counted = [[row for row in arm if row.excluded is None] for arm in arms]
    lines = [(n, line) for n in range(len(arms)) for line in range(len(_LINES))]

    def first(show: Callable[[int], str]) -> list[str]:
        return [show(n) if line == 0 else "" for n, line in lines]

    columns = [
        Column(
            head,
            [_cell([getattr(row, field) for row in counted[n] or arms[n]], form, line) for n, line in lines],
            words=not form,
        )
        for field, head, form in figure.columns()
    ]
    return Table(
        [
            *columns,
            Column("", [_LINES[line][0] for _, line in lines], words=True),
            Column("trials", first(lambda n: str(len(arms[n])))),
            Column("excluded", first(lambda n: str(len(arms[n]) - len(counted[n])))),
        ],
        groups_of([n for n, _ in lines]),
    )


def _factors(figure: Figure, row: Row) -> list[tuple[bool, Any]]:
    values = (getattr(row, field) for field, _, _ in figure.columns())
    return [(isinstance(value, str), value) for value in values if isinstance(value, str | int)]


def _cell(values: list[Any], form: str, line: int) -> str:
    """A value that all trials share is in the first line alone."""
    present = [value for value in values if value is not None]
    if not present:
        return fmt.DASH if line == 0 else ""
    if isinstance(present[0], str) or min(present) == max(present):
        value = present[0] if line == 0 else None
    else:
        value = _LINES[line][1](present)
    if value is None:
        return ""
    return str(value) if isinstance(value, str) or not form else _WRITTEN[form](value)
