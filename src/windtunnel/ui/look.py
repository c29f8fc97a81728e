"""What the index keeps of one directory: of a run its record and metrics, of others their title and time. Nothing of it is believed."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.errors import UserError
from windtunnel.ui import notes
from windtunnel.ui.find import number_of
from windtunnel.ui.untrusted import MOST_BYTES, check_files, read_file

KINDS = {
    "run.json": "run",
    "study.json": "study",
    "search.json": "search",
    "comparison.json": "comparison",
    "tuning.json": "tuning",
}
LISTED = ("responses_per_s", "p50", "p99")
"""Metrics of every list."""


@dataclass(frozen=True)
class Entry:
    """One row. `problem`: why the rest is not known, in words."""

    kind: str
    title: str
    question: str = ""
    host: str = ""
    verdict: str = ""
    started: str = ""
    facts: str = "{}"
    problem: str | None = None
    responses_per_s: float | None = None
    p50: float | None = None
    """ns."""
    p99: float | None = None
    tags: str = ""
    """With a space before and after each."""
    note: str = ""


def look(file: Path) -> Entry:
    """Reads what `file`, of one of KINDS, and what lies beside it say. Raises nothing for what a damaged directory holds."""
    kind = KINDS[file.name]
    try:
        return _run(file) if kind == "run" else _other(file, kind)
    except UserError as error:
        return Entry(kind, file.parent.name, problem=error.message)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError) as error:
        return Entry(kind, file.parent.name, problem=f"damaged: {type(error).__name__}")


def _run(file: Path) -> Entry:
    from windtunnel.measure.study.columns import rows_of
    from windtunnel.runs import load
    from windtunnel.runs.identity import flat

    check_files(file.parent)
    said, unread = _notes(file.parent)
    run = load(file.parent)
    record = run.record
    facts: dict[str, Any] = {key: _plain(value) for key, value in flat(record.scenario).items()}
    if run.has_metrics:
        for row in reversed(rows_of(run, {}, include_invalid=True)):  # of several workloads the first one's
            facts |= {name: value for name, value in row.items() if isinstance(value, int | float)}
    return Entry(
        "run",
        record.title,
        record.question or "",
        str(record.host.get("hostname") or ""),
        record.verdict_words,
        record.started.isoformat(sep=" ", timespec="seconds") if record.started else "",
        json.dumps(facts),
        problem="; ".join([*run.problems, *unread]) or None,
        tags=" ".join(["", *said.tags, ""]) if said.tags else "",
        note=said.note,
        **{name: facts.get(name) for name in LISTED},
    )


def _notes(directory: Path) -> tuple[notes.Notes, list[str]]:
    """The notes of a run, and why they cannot be read: the run itself is shown all the same."""
    try:
        return notes.read(directory), []
    except UserError as error:
        return notes.Notes(), [error.message]


def _other(file: Path, kind: str) -> Entry:
    document = json.loads(read_file(file, MOST_BYTES))
    title = document.get("title") or document.get("question") or file.parent.name
    host = document.get("host")
    return Entry(
        kind,
        str(title),
        str(document.get("question") or ""),
        str(host.get("hostname") or "") if isinstance(host, dict) else "",
        started=str(document.get("started") or "")[:19].replace("T", " "),
    )


def _plain(value: Any) -> Any:
    """Quantities as numbers, so that 20us < 1ms; other values as text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return value
    known = number_of(value) if isinstance(value, str) else None
    return str(value) if known is None else known
