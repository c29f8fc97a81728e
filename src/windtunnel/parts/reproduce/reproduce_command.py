"""windtunnel reproduce: does what documents say hold on this host?"""

from pathlib import Path
from typing import Annotated

import typer

from windtunnel.cli.shared_options import Format, Json


def reproduce(
    claims: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CLAIM...",
            help="000/frames, a document as 001, all, or a file of a claim.",
            show_default="list them",
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(
            "--within", metavar="DURATION", help="Begin no claim that takes longer than what is left of it, as 30min."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Directory. What it has decided is not decided again.",
            show_default="runs/<UTC time>-reproduce",
        ),
    ] = None,
    json: Json = False,
    format_: Format = "text",
) -> None:
    """Decide claims of documents on this host.

    The claims are those of the five documents that this product was made from. Each is a file: it names the commands that answer it, the
    quantities that decide, and their bounds. The verdicts are: holds, does not hold, not shown (the host lacks something, or the intervals
    do not decide), modelled. Ctrl-C ends it, and the same command with --out goes on.

    Exit codes: 0 all are decided, whatever the verdict, 2 bad input, 3 some are not shown, 130 interrupted.

    windtunnel reproduce
    windtunnel reproduce 000/frames
    windtunnel reproduce 003 --out runs/pcie
    windtunnel reproduce all --within 30min
    windtunnel reproduce mine.toml --json
    """
    from windtunnel.engine.verdict import CANNOT_TELL, INTERRUPTED
    from windtunnel.measure.compare.conditions import seconds
    from windtunnel.measure.execute import new_directory
    from windtunnel.parts.reproduce import claim_record, conduct
    from windtunnel.parts.reproduce.claim import Claim, selected, shipped
    from windtunnel.parts.reproduce.claims_document import list_document, reproduced_document
    from windtunnel.results.as_json import json_of
    from windtunnel.results.page.files import REPORT, write_page
    from windtunnel.results.show import show
    from windtunnel.results.terminal.console import progress
    from windtunnel.runs.latest import RUNS

    if not claims:
        known = conduct.states(shipped(), claim_record.last_verdicts(RUNS))
        print(json_of(known)) if json else show(list_document(known))
        return

    def announce(claim: Claim, command: str) -> None:
        if not json:
            progress().out(f"{claim.id}  windtunnel {command}")

    limit = None if within is None else seconds("--within", within)
    directory = out or new_directory("reproduce")
    result = conduct.reproduce(selected(claims), directory, limit, announce)
    files = []
    if directory.is_dir():
        conduct.check_way(directory, is_there=True)  # if nothing was decided, it may be another user's by now
        report = write_page(reproduced_document(result), directory / REPORT)
        files = [("results", str(directory)), ("report", str(report))]
    print(json_of(result)) if json else show(reproduced_document(result, files))
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)
    if any(claim.outcome in (None, "not shown") for claim in result.claims):
        raise typer.Exit(CANNOT_TELL)
