"""Outcomes as tables, marked as simulated."""

from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from windtunnel import format as fmt
from windtunnel.views.terminal.columns import Column, Fitting

SIMULATED = "simulated, not measured"
MOST_ROWS = 24
MOST_LEFT = 0.01
"""Share of the requests from which on a p99 misleads."""


def view(documents: Mapping[str, dict[str, Any]]) -> RenderableType:
    """Of each variant: its tenants, its phases where there are several, and the use of the cores' time."""
    parts: list[RenderableType] = []
    for name, document in documents.items():
        cores = f"{document['cores']} core{'' if document['cores'] == 1 else 's'}"
        slice_ = fmt.duration(document["slice_ns"])
        head = f"{document['policy']}, slice {slice_}, {cores}, {fmt.duration(document['duration_ns'])}"
        parts += [Text(f"{name + ': ' if name else ''}{head}", style="bold"), tenants_table(document)]
        if len(document["phases"]) > 1:
            parts.append(phases_table(document["phases"]))
        parts.append(Text(_core_words(document), style="dim"))
        if (words := overload_words(document["all"])) is not None:
            parts.append(Text(words, style="yellow"))
    return Group(*parts, Text(SIMULATED, style="yellow"))


def tenants_table(document: dict[str, Any]) -> RenderableType:
    rows = document["tenants"]
    left = len(rows) - MOST_ROWS
    rows = [*rows[:MOST_ROWS], document["all"] | {"name": f"all, {left} more" if left > 0 else "all"}]

    def column(head: str, key: str, show: Callable[[Any], str], spare: int = 0) -> Column:
        return Column(head, [show(row.get(key)) for row in rows], spare=spare)

    return Fitting(
        [
            Column("tenant", [row["name"] for row in rows], words=True),
            column("weight", "weight", fmt.count, 4),
            column("share", "share", fmt.percent),
            column("due", "entitled", fmt.percent, 3),
            column("CPUs", "cpus", lambda x: fmt.number(x, 2), 5),
            column("p50", "p50", fmt.duration),
            column("p99", "p99", fmt.duration),
            column("p99.9", "p999", fmt.duration, 2),
            column("wait p99", "wait_p99", fmt.duration, 6),
            column("served", "served_per_s", fmt.rate),
            column("dropped", "dropped", fmt.count, 1),
            column("slice p50", "slice_p50_ns", fmt.duration, 7),
            column("gap p99", "gap_p99_ns", fmt.duration, 8),
        ],
        sections=[len(rows) - 1],
    )


def phases_table(rows: list[dict[str, Any]]) -> RenderableType:
    def column(head: str, key: str, show: Callable[[Any], str]) -> Column:
        return Column(head, [show(row[key]) for row in rows])

    return Fitting(
        [
            column("from", "from_ns", fmt.duration),
            column("served", "served_per_s", fmt.rate),
            column("p50", "p50", fmt.duration),
            column("p99", "p99", fmt.duration),
            column("batch CPUs", "batch_cpus", lambda x: fmt.number(x, 2)),
        ]
    )


def overload_words(of_all: dict[str, Any]) -> str | None:
    """A warning where so many requests are not done that percentiles of the others mislead; else None."""
    left = of_all["waiting"] + of_all["dropped"]
    if left <= MOST_LEFT * of_all["arrived"]:
        return None
    return f"overload: {fmt.count(left)} of {fmt.count(of_all['arrived'])} requests were dropped or waiting at the end; percentiles do not include them"


def _core_words(document: dict[str, Any]) -> str:
    named = {
        "useful": "useful",
        "refilled": "refilling caches",
        "switching": "switching",
        "steal": "steal",
        "idle": "idle",
    }
    shares = document["core_time"]
    return "cores: " + ", ".join(f"{fmt.percent(shares[key])} {words}" for key, words in named.items() if shares[key])
