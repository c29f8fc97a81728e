"""The page docs/reference/claims.md: the keys of a claim's file, and the claims of the five documents."""

from itertools import groupby

from windtunnel.parts.reproduce.claim import Claim, shipped
from windtunnel.schemas.scenario_page import tables

HEAD = """\
# Claims

<!-- Generated from src/windtunnel/parts/reproduce/claim.py and claims/ by `python -m windtunnel.schemas`. -->

`windtunnel reproduce` decides claims: [Reproduce a paper](../how-to/reproduce-a-paper.md). This page has the claims of the five documents, and the keys
of a file for claims of your own.

"""
KEYS = """
A file of a claim is a program, as a scenario is: its commands run with your rights. `sql` is one SELECT of DuckDB's with at most 100,000 rows. It
reads what the commands have written into the claim's directory, and nothing else. A value that is no finite number decides nothing.
"""


def reference() -> dict[str, str]:
    """Name of a page of docs/reference -> its text."""
    rows = [
        f"\n## {document}\n\n| claim | place | the document says | it holds if | needs |\n|---|---|---|---|---|\n"
        + "".join(map(_row, claims))
        for document, claims in groupby(shipped(), lambda claim: claim.document)
    ]
    return {"claims": HEAD.rstrip("\n") + "\n" + "".join(rows) + KEYS + tables(Claim)}


def _row(claim: Claim) -> str:
    needs = ", ".join(claim.needs) if claim.command else f"not decided yet: {claim.undecided}"
    return f"| `{claim.id}` | {claim.place} | {claim.says} | {claim.holds_if} | {needs} |\n"
