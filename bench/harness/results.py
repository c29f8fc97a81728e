"""Results with their references and goals: one table for people, one file with every sample."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from harness.sample import Sample
from harness.statistics import Goal, Spread, Verdict

VERSION = 1
DIRECTORY = Path(__file__).resolve().parents[1]
WIDTH = 180


@dataclass(frozen=True)
class Result:
    """One line of the table. A ratio is ours by the reference's, paired; `unit` is its unit, "x" for a ratio."""

    name: str
    memory: str
    spread: Spread
    unit: str
    ours: str = ""
    """What the ratio was made of, or nothing where the result is no ratio."""
    reference: str = ""
    states: str = ""
    """Pairs by the state of the host: those of the first one are in the ratio. Empty where no state is known."""
    goal: Goal | None = None
    verdict: Verdict | None = None
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)


def show(results: Sequence[Result]) -> None:
    """Two tables: what has a reference or a goal, and what is only shown."""
    held = [f for f in results if f.reference or f.goal]
    _table(
        "median [95% interval of it, or range of few samples]",
        {
            "measurement": [f.name for f in held],
            "memory": [f.memory for f in held],
            "result": [text(f.spread, f.unit) for f in held],
            "goal": [_goal(f) for f in held],
            "verdict": [_verdict(f) for f in held],
            "ours": [f.ours for f in held],
            "reference": [f.reference for f in held],
            "pairs by state": [f.states for f in held],
        },
    )
    shown = [f for f in results if f not in held]
    _table(
        "shown without a goal",
        {
            "measurement": [f.name for f in shown],
            "memory": [f.memory for f in shown],
            "result": [text(f.spread, f.unit) for f in shown],
        },
    )


def _table(title: str, columns: dict[str, list[str]]) -> None:
    rows = list(zip(*columns.values(), strict=True))
    if not rows:
        return
    table = Table(title=title)
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def console() -> Console:
    """As wide as the table where nobody looks at a terminal."""
    return Console(highlight=False, width=None if os.isatty(1) else WIDTH)


def text(spread: Spread, unit: str) -> str:
    kind = "" if spread.kind == "95%" else f" range of {spread.samples}"
    return f"{spread.median:.4g} {unit} [{spread.low:.4g} .. {spread.high:.4g}]{kind}"


def keep(results: Sequence[Result], host: dict[str, Any], commit: str | None) -> Path:
    """Writes results-<utc>.json; returns its path."""
    now = datetime.now(UTC)
    path = DIRECTORY / f"results-{now:%Y-%m-%dT%H-%M-%SZ}.json"
    document = {
        "version": VERSION,
        "finished": now.isoformat(),
        "commit": commit,
        "python": platform.python_version(),
        "host": host,
        "results": [asdict(result) for result in results],
    }
    path.write_text(json.dumps(document, indent=1) + "\n")
    return path


def _goal(result: Result) -> str:
    goal = result.goal
    if goal is None:
        return "none"
    aim = "" if goal.aim is None else f", aim {goal.aim:g}"
    return f"{goal.sense} {goal.limit:g} {result.unit}{aim}"


def _verdict(result: Result) -> str:
    if result.verdict is None:
        return ""
    colour = {True: "green", False: "red", None: "yellow"}[result.verdict.met]
    return f"[{colour}]{result.verdict.words}[/]"
