"""windtunnel host doctor: is this machine fit to measure on, and what would improve it?"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli.options import Format

if TYPE_CHECKING:
    from windtunnel.host.findings import Finding

COLOURS = {"good": "green", "fair": "yellow", "bad": "red", "unknown": "dim"}


def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print facts and findings as JSON.")] = False,
    format_: Format = "text",
) -> None:
    """Check if this machine is fit to measure on.

    Changes nothing. Each finding has a verdict (good, fair, bad, unknown), says what it means for measurements, and names
    a command that improves it if there is one. "windtunnel doctor" does the same.

    windtunnel host doctor
    windtunnel host doctor --json | jq '.findings[] | select(.verdict == "bad")'
    """
    from windtunnel.host.facts import collect
    from windtunnel.host.judge_cpus import judge_cpus
    from windtunnel.host.judge_rdma import judge_rdma
    from windtunnel.host.judge_system import judge_system

    facts, engine = collect(), judge_engine()
    has_engine = engine.verdict == "good"
    findings = [
        *judge_cpus(facts.cpus),
        *judge_system(facts, has_engine),
        *judge_rdma(facts, has_engine),
        *judge_providers(),
        engine,
        judge_compiler(),
        judge_leftovers(),
    ]
    if json:
        import json as encoder

        document = {"facts": facts.model_dump(mode="json"), "findings": [f.model_dump(mode="json") for f in findings]}
        typer.echo(encoder.dumps(document, indent=2))
    else:
        show(findings)


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


def judge_providers() -> list[Finding]:
    """Asks the engine for libfabric's providers. One that does not respond is a finding of its own."""
    from windtunnel.engine.find import find_engine
    from windtunnel.engine.query import rdma_offers
    from windtunnel.errors import UserError
    from windtunnel.host.judge_rdma import providers

    try:
        return [providers(rdma_offers(find_engine()))]
    except UserError:
        return []


def judge_compiler() -> Finding:
    """Whether there is a compiler for P4 pipelines."""
    from shutil import which

    from windtunnel.host.findings import Finding

    if compiler := which("gcc"):
        return Finding(
            subject="compiler", value=compiler, verdict="good", meaning="the handler swx can compile P4 pipelines"
        )
    return Finding(
        subject="compiler",
        value="no gcc",
        verdict="fair",
        meaning="the handler swx cannot compile P4 pipelines; nothing else needs one",
        remedy="sudo apt-get install gcc libdpdk-dev",
    )


def judge_leftovers() -> Finding:
    """Counts what killed engines left that no process holds."""
    from windtunnel.engine.leftovers import of_the_dead
    from windtunnel.host.findings import Finding

    if not (left := of_the_dead()):
        return Finding(subject="leftovers", value="none", verdict="good", meaning="no killed engine has left anything")
    return Finding(
        subject="leftovers",
        value=f"{len(left)} of killed engines, as {left[0]}",
        verdict="fair",
        meaning="they take memory; the next run removes them",
    )


def show(findings: list[Finding]) -> None:
    """The findings as a table, then the remedies: a command that wraps in a cell cannot be copied."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from windtunnel.views.terminal.console import results

    console = results()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("finding", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("finding and effect", overflow="fold")
    for finding in findings:
        verdict = Text(finding.verdict, style=COLOURS[finding.verdict])
        table.add_row(finding.subject, verdict, Group(finding.value, Text(finding.meaning, "dim")))
    console.print(table)
    counts = Counter[str](finding.verdict for finding in findings)
    console.print()
    console.print(", ".join(f"{counts[verdict]} {verdict}" for verdict in COLOURS))

    remedies = [finding for finding in findings if finding.remedy]
    if remedies:
        console.print("To improve it, run:")
    for finding in remedies:
        console.print()
        console.print(finding.subject, style="bold")
        console.print(f"  {finding.remedy}", soft_wrap=True)
