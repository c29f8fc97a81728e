"""Claims as a document: a row for each, and for those that were decided what decided them."""

from collections.abc import Sequence

from windtunnel import format as fmt
from windtunnel.parts.reproduce.claim_record import Claims, ClaimState, Finding, Outcome
from windtunnel.parts.reproduce.plot import plotly_of
from windtunnel.results.document import (
    Block,
    Chart,
    Column,
    Document,
    Listing,
    Marked,
    Section,
    Sentence,
    Table,
    Tone,
    columns_of,
    groups_of,
)

DRAWN = "Points: the medians here, with the least and the greatest repeat. Dashed: what the document says, in numbers of its own machine or as a law."
TONES: dict[Outcome, Tone] = {"holds": "good", "does not hold": "bad", "not shown": "waits", "modelled": "emulated"}


def list_document(claims: Claims) -> Document:
    """All claims, how long each takes, what it lacks here, and its last verdict."""
    column = columns_of(claims.claims)
    layout = [
        column("takes", lambda claim: fmt.DASH if claim.lacking else fmt.duration(claim.takes_ns), spare=2),
        column("here", _outcome, words=True),
        column("because", lambda claim: claim.because, words=True, spare=1),
    ]
    return Document(
        kind="claims",
        title="Claims of five documents",
        at=claims.made,
        blocks=[_table(claims.claims, layout)],
        verdict=Sentence(counts(claims)),
        footnotes=[
            "windtunnel reproduce 000/frames decides one, 000 those of a document, all those that this host can decide"
        ],
    )


def reproduced_document(claims: Claims, files: Sequence[tuple[str, str]] = ()) -> Document:
    """What was decided, and by which quantities."""
    column = columns_of(claims.claims)
    layout = [
        column("here", _outcome, words=True),
        column("because", lambda claim: claim.because, words=True, spare=1),
    ]
    return Document(
        kind="claims",
        title="What holds on this host",
        at=claims.made,
        blocks=[_table(claims.claims, layout), *(_details(claim) for claim in claims.claims if claim.record)],
        verdict=Sentence(outcome(claims)),
        files=files,
    )


def counts(claims: Claims) -> str:
    """How many have which verdict: "3 holds, 1 not shown, of 40 claims"."""
    counted = {text: claims.with_outcome(text) for text in TONES}
    parts = [f"{count} {text}" for text, count in counted.items() if count]
    return f"{', '.join(parts) or 'none is decided'}, of {len(claims.claims)} claims."


def outcome(claims: Claims) -> str:
    """The last sentence."""
    if claims.interrupted:
        return f"Interrupted: {counts(claims)} The same command with --out goes on."
    undecided = claims.with_outcome(None)
    return f"{counts(claims)}{f' There was no time for {undecided}.' if undecided else ''}"


def _table(claims: Sequence[ClaimState], layout: Sequence[Column]) -> Table:
    column = columns_of(claims)
    about = [
        column("claim", lambda claim: claim.id, words=True),
        column("what the document says", lambda claim: claim.says, words=True),
    ]
    return Table([*about, *layout], groups=groups_of([claim.document for claim in claims]))


def _outcome(claim: ClaimState) -> Marked:
    return Marked(
        claim.outcome or "", TONES[claim.outcome] if claim.outcome else "plain", strong=claim.record is not None
    )


def _details(claim: ClaimState) -> Section:
    record = claim.record
    blocks: list[Block] = [_quantities(record.findings)] if record else []
    if record and record.plot and (chart := plotly_of(record.plot)):
        blocks.append(Chart(chart, about=DRAWN))
    blocks.append(Listing("\n".join(f"windtunnel {command}" for command in claim.commands)))
    about = f"{claim.document}, {claim.place}: {claim.says} It holds if {claim.holds_if}."
    return Section(claim.id, blocks, about=about, terminal="titled")


def _quantities(findings: Sequence[Finding]) -> Table:
    column = columns_of(findings)
    return Table(
        [
            column("quantity", lambda finding: finding.what, words=True),
            column("wanted", _wanted),
            column("here", lambda finding: _number(finding.median)),
            column("99% interval", _interval, spare=1),
            column("values", lambda finding: str(finding.values), spare=2),
            column("", lambda finding: Marked(finding.outcome, TONES[finding.outcome]), words=True),
        ]
    )


def _wanted(finding: Finding) -> str:
    if finding.at_least is None:
        return f"at most {_number(finding.at_most)}"
    if finding.at_most is None:
        return f"at least {_number(finding.at_least)}"
    least, most = _number(finding.at_least), _number(finding.at_most)
    return least if least == most else f"{least} to {most}"


def _interval(finding: Finding) -> str:
    if finding.low is None or finding.low == finding.high:
        return fmt.DASH
    return f"{_number(finding.low)} .. {_number(finding.high)}"


def _number(value: float | None) -> str:
    return fmt.DASH if value is None else f"{value + 0.0:.4g}"
