"""windtunnel host doctor: is this machine fit to measure on, and what would improve it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli.shared_options import Format

if TYPE_CHECKING:
    from windtunnel.host.facts import Facts
    from windtunnel.host.findings import Finding, Verdict
    from windtunnel.results.document import Document


def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print facts and findings as JSON.")] = False,
    format_: Format = "text",
    for_: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="PART",
            help="Also what a part looks at on hosts with its hardware only; another name lists them.",
        ),
    ] = None,
) -> None:
    """Check if this machine is fit to measure on.

    Changes nothing. Each finding has a verdict (good, fair, bad, unknown), says what it means for measurements, and names
    a command that improves it if there is one.

    windtunnel host doctor
    windtunnel host doctor --json | jq '.findings[] | select(.verdict == "bad")'
    """
    from windtunnel.host.facts import collect
    from windtunnel.host.judge_cpus import judge_cpus
    from windtunnel.host.judge_system import judge_system
    from windtunnel.part_registry import part_functions

    judge_asked = _asked(for_)
    facts, engine = collect(), judge_engine()
    has_engine = engine.verdict == "good"
    findings = [
        *judge_cpus(facts.cpus),
        *judge_system(facts, has_engine),
        *(finding for judge in part_functions("findings", "judge") for finding in judge(facts, has_engine)),
        *judge_asked(facts),
        engine,
        judge_leftovers(),
    ]
    if json:
        import json as encoder

        document = {"facts": facts.model_dump(mode="json"), "findings": [f.model_dump(mode="json") for f in findings]}
        typer.echo(encoder.dumps(document, indent=2))
    else:
        from windtunnel.results.show import show

        show(_document(findings))


def _asked(name: str | None) -> Callable[[Facts], list[Finding]]:
    """What judges for `--for`. Raises UserError if no part has this name."""
    from windtunnel.errors import UserError
    from windtunnel.part_registry import part_modules

    asked = {key: judge for module in part_modules("findings") for key, judge in getattr(module, "ASKED", {}).items()}
    if name is None:
        return lambda facts: []
    if name not in asked:
        raise UserError(f"--for {name}: no further findings have this name", remedy=f"one of {', '.join(asked)}")
    judge: Callable[[Facts], list[Finding]] = asked[name]
    return judge


def judge_engine() -> Finding:
    """Finds the engine and asks it for its version."""
    from windtunnel.engine.find import find_engine, quickstart
    from windtunnel.engine.query import version
    from windtunnel.errors import UserError
    from windtunnel.host.findings import Finding

    try:
        engine = find_engine()
        value = f"{version(engine)} ({engine})"
    except UserError as error:
        remedy = (error.remedy or quickstart()).removeprefix("run ")
        return Finding(
            subject="engine", value=error.message, verdict="bad", meaning="no scenario can run", remedy=remedy
        )
    return Finding(subject="engine", value=value, verdict="good", meaning="scenarios can run")


def judge_leftovers() -> Finding:
    """Counts what killed engines left that no process holds."""
    from windtunnel.engine.leftovers import of_the_dead
    from windtunnel.host.findings import Finding

    if not (leftovers := of_the_dead()):
        return Finding(subject="leftovers", value="none", verdict="good", meaning="no killed engine has left anything")
    return Finding(
        subject="leftovers",
        value=f"{len(leftovers)} of killed engines, as {leftovers[0]}",
        verdict="fair",
        meaning="they take memory; the next run removes them",
    )


def _document(findings: list[Finding]) -> Document:
    """The findings as a table, then the remedies, because a command that wraps in a cell cannot be copied."""
    from windtunnel.results.document import Cell, Column, Document, Marked, Section, Sentence, Table, Tone

    tones: dict[Verdict, Tone] = {"good": "good", "fair": "warning", "bad": "bad", "unknown": "quiet"}
    rows: list[tuple[Cell, Cell, Cell]] = []
    for finding in findings:  # the effect has a row of its own: columns for both would be too narrow
        rows.append((finding.subject, Marked(finding.verdict, tones[finding.verdict]), finding.value))
        rows.append(("", "", Marked(finding.meaning, "quiet")))
    heads = ("finding", "verdict", "value and effect")
    table = Table([Column(head, cells, words=True) for head, cells in zip(heads, zip(*rows, strict=True), strict=True)])
    remedies = [
        Section(finding.subject, [Sentence(f"  {finding.remedy}", unwrapped=True)], terminal="titled")
        for finding in findings
        if finding.remedy
    ]
    counts = Counter[str](finding.verdict for finding in findings)
    return Document(
        kind="host doctor",
        title="Is this machine fit to measure on?",
        blocks=[table, Section("To improve it, run:", remedies, terminal="titled")],
        verdict=Sentence(", ".join(f"{counts[verdict]} {verdict}" for verdict in tones)),
    )
