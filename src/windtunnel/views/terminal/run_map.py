"""A run before it starts: stages on CPUs, the wire, and the needs."""

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from windtunnel.views.planned import by_cpu, facts, wire_words

if TYPE_CHECKING:
    from windtunnel.scenario import RunSpec

_STYLES = {"emulated": "magenta", "note": "yellow"}


def run_map(file: Path, spec: "RunSpec") -> RenderableType:
    """The client above the wire, the server below it, a line for each worker; then traffic, mbufs, memory and notes."""
    head = Text.assemble(
        f"{file}: ", ("valid scenario", "bold green"), "  ", (spec.question, "italic"), overflow="fold"
    )
    needs = Table.grid(padding=(0, 2, 0, 0))
    label = None
    for name, words in facts(spec):
        needs.add_row(name if name != label else "", Text(words, style=_STYLES.get(name, "")))
        label = name
    return Group(
        head,
        Text(),
        Padding(_workers(spec), (0, 0, 0, 2), expand=False),
        Text(),
        Padding(needs, (0, 0, 0, 2), expand=False),
        Text(),
    )


def _workers(spec: "RunSpec") -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    placed = [(endpoint, plan) for plan in spec.plans for endpoint in plan.endpoints]
    for position, (endpoint, plan) in enumerate(sorted(placed, key=lambda pair: pair[0].side)):
        if position:
            grid.add_row("", "  ↕", Text(wire_words(endpoint, processes=len(spec.plans)), style="cyan"))
        name: str = endpoint.side
        for cpu, stages in by_cpu(plan, endpoint):
            grid.add_row(Text(name, style="bold"), f"CPU {cpu}", "  ".join(f"{s.stage}:{s.index}" for s in stages))
            name = ""
    if len(placed) == 1:
        grid.add_row("", "  ↕", Text(wire_words(placed[0][0], processes=1), style="cyan"))
    return grid
