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
class StateSelection:
    rows: list[Row]
    state: str | None
    """State of all these runs; None: not known."""
    left_out: list[str]
    """Sentences about the other runs."""


def of_one_state(path: Path, rows: Sequence[Row]) -> StateSelection:
    """The rows of a study's table whose runs were in the state that most runs were in. Raises UserError for a damaged run directory."""
    directories = list(dict.fromkeys(row["directory"] for row in rows))
    where = [_where(path / directory) for directory in directories]
    unknown = sum(run_state.state is None for run_state in where)
    if unknown > (1 - LEAST_KNOWN) * len(where) or unknown == len(where):
        return StateSelection(list(rows), None, [])
    most = groups([(run_state,) for run_state in where])[0]
    others = [run_state.state for n, run_state in enumerate(where) if run_state.state and n not in most.positions]
    sentences = (
        [f"left out: {_runs(len(others))} in another host state: {', '.join(dict.fromkeys(others))}"] if others else []
    )
    if unknown:
        sentences.append(f"left out: {_runs(unknown)} whose host state is not known")
    chosen = {directories[n] for n in most.positions}
    return StateSelection([row for row in rows if row["directory"] in chosen], most.state, sentences)


def _where(directory: Path) -> Where:
    return record_of(directory).where if (directory / "run.json").is_file() else Where()


def _runs(count: int) -> str:
    return f"{count} run{'' if count == 1 else 's'}"
