"""Two pages of docs/reference: five-documents.md, with what the documents name and claim, and claims.md, with the keys of a claim's file."""

from collections import Counter
from collections.abc import Iterable

from windtunnel.parts.reproduce.claim import DOCUMENTS, Claim, shipped
from windtunnel.parts.reproduce.document_rows import DONE, NOT_DONE, Row, rows
from windtunnel.schemas.scenario_page import tables

FIVE_DOCUMENTS = """\
# Five documents

<!-- Generated from src/windtunnel/parts/reproduce/documents/ and claims/ by `python -m windtunnel.schemas`. -->

Windtunnel was made to do what five documents describe ([which they are](../how-to/reproduce-a-paper.md)). This page lists what each of them names, in
its own terms and in the order of its text: capabilities, options, metrics, machines. {count} are named: {done} are done, {in part} are done in part, and {not} are not
done.

- *Done*: users can do it from the pages that are named, and a test shows the right value.
- *Not tried on hardware* ({untried} of the {done}): nobody has had the device. The code is tested on recorded or emulated input.
- *In part*, *not*: the row says what is missing.

Behind each list are the {claims} claims of the five documents that `windtunnel reproduce` lists. [Claim file keys](claims.md) has the keys of a file for claims of your own.

"""
CLAIMS = """\
# Claim file keys

<!-- Generated from src/windtunnel/parts/reproduce/claim.py by `python -m windtunnel.schemas`. -->

`windtunnel reproduce` decides claims: [Reproduce a paper](../how-to/reproduce-a-paper.md). Those of [five documents](five-documents.md) are shipped. This page has the keys
of a file for claims of your own.

A file of a claim is a program, as a scenario is: its commands run with your rights. `sql` is one SELECT of DuckDB's with at most 100,000 rows. It
reads what the commands have written into the claim's directory, and nothing else. A command writes what `name` and `stdout` say there: with
any other file in it the claim is not decided. A value that is no finite number decides nothing.
"""
STATES = (*DONE, *NOT_DONE)


def reference() -> dict[str, str]:
    """Name of a page of docs/reference -> its text."""
    return {"five-documents": _five_documents(), "claims": CLAIMS + tables(Claim)}


def _five_documents() -> str:
    documents, claims = rows(), shipped()
    states: Counter[str] = Counter(row.state for of_document in documents.values() for row in of_document)
    head = FIVE_DOCUMENTS.format_map(
        {
            "count": states.total(),
            "done": sum(states[state] for state in DONE),
            "untried": states[DONE[1]],
            "in part": states["in part"],
            "not": states["not"],
            "claims": len(claims),
        }
    )
    sections = (
        _section(title, documents[number], [claim for claim in claims if claim.id.startswith(f"{number}/")])
        for number, title in DOCUMENTS.items()
    )
    return head + _summary(documents) + "".join(sections)


def _summary(documents: dict[str, list[Row]]) -> str:
    lines = (
        _line(
            DOCUMENTS[number], len(of_document), *(sum(row.state == state for row in of_document) for state in STATES)
        )
        for number, of_document in documents.items()
    )
    return _table(("document", "named", *STATES), lines)


def _section(title: str, named: list[Row], claims: list[Claim]) -> str:
    rows_of_page = (_line(row.number, row.names, _state(row), _where(row)) for row in named)
    claims_of_page = (
        _line(f"`{claim.id}`", claim.place, claim.says, claim.holds_if, _needs(claim)) for claim in claims
    )
    return (
        f"\n## {title}\n\n{_table(('number', 'the document names', 'state', 'where'), rows_of_page)}"
        f"\n### Claims of {title}\n\n{_table(('claim', 'place', 'the document says', 'it holds if', 'needs'), claims_of_page)}"
    )


def _state(row: Row) -> str:
    return f"**{row.state}**: {row.missing}" if row.missing else row.state


def _where(row: Row) -> str:
    """Commands, links to pages, and paths of all else."""
    pages = [file.removeprefix("docs/").removesuffix(".md") for file in row.files if file.startswith("docs/")]
    others = [file for file in row.files if not file.startswith("docs/")]
    entries = (*(f"[{page}](../{page}.md)" for page in pages), *(f"`{entry}`" for entry in (*row.commands, *others)))
    return ", ".join(entries)


def _needs(claim: Claim) -> str:
    return ", ".join(claim.needs) if claim.command else f"not decided yet: {claim.undecided}"


def _table(heads: Iterable[str], lines: Iterable[str]) -> str:
    heads = tuple(heads)
    return _line(*heads) + "|---" * len(heads) + "|\n" + "".join(lines)


def _line(*cells: object) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |\n"
