"""Runs in one state of the host: a model of runs in several states would hold in none of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.host.states import Where, groups
from windtunnel.runs.reader import record_of

LEAST_KNOWN = 0.5
"""Share of the runs whose state must be known: with less, the states cannot choose the runs."""
Row = dict[str, Any]


@dataclass(frozen=True)
class Chosen:
    rows: list[Row]
    state: str | None
    """Of all of them; None: not known."""
    left_out: list[str]
    """Sentences about the other runs."""


def of_one_state(path: Path, rows: Sequence[Row]) -> Chosen:
    """The rows of a study's table whose runs were in the state that most runs were in. Raises UserError for a damaged run directory."""
    directories = list(dict.fromkeys(row["directory"] for row in rows))
    where = [_where(path / directory) for directory in directories]
    unknown = sum(each.state is None for each in where)
    if unknown > (1 - LEAST_KNOWN) * len(where) or unknown == len(where):
        return Chosen(list(rows), None, [])
    most = groups([(each,) for each in where])[0]
    others = [each.state for n, each in enumerate(where) if each.state and n not in most.positions]
    said = (
        [f"left out: {_runs(len(others))} in another host state: {', '.join(dict.fromkeys(others))}"] if others else []
    )
    if unknown:
        said.append(f"left out: {_runs(unknown)} whose host state is not known")
    chosen = {directories[n] for n in most.positions}
    return Chosen([row for row in rows if row["directory"] in chosen], most.state, said)


def _where(directory: Path) -> Where:
    return record_of(directory).where if (directory / "run.json").is_file() else Where()


def _runs(count: int) -> str:
    return f"{count} run{'' if count == 1 else 's'}"
