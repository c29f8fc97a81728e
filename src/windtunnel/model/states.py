"""Runs in one state of the host: a model of runs in several states would hold in none of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.host.levels import GAP, ONLY_ONE
from windtunnel.runs.reader import record_of
from windtunnel.runs.validity import HostState

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
    states = {directory: _state_of(path / directory) for directory in dict.fromkeys(row["directory"] for row in rows)}
    known = {directory: state for directory, state in states.items() if state}
    if len(known) < LEAST_KNOWN * len(states) or not known:
        return Chosen(list(rows), None, [])
    most = max((_alike(state, known) for state in known.values()), key=len)
    name = next((known[each].name for each in most if ONLY_ONE not in known[each].name), known[most[0]].name)
    others = dict.fromkeys(known[each].name for each in known if each not in most)
    said = [f"left out: {_runs(len(known) - len(most))} in another host state: {', '.join(others)}"] if others else []
    if unknown := len(states) - len(known):
        said.append(f"left out: {_runs(unknown)} whose host state is not known")
    return Chosen([row for row in rows if row["directory"] in most], name, said)


def _state_of(directory: Path) -> HostState | None:
    if not (directory / "run.json").is_file():
        return None
    validity = record_of(directory).validity
    return validity.headline_state if validity else None


def _alike(state: HostState, known: Mapping[str, HostState]) -> list[str]:
    return [directory for directory, other in known.items() if _same(state, other)]


def _same(a: HostState, b: HostState) -> bool:
    """A run made when the host had shown one level alone is matched by its round trip."""
    if ONLY_ONE not in a.name + b.name:
        return a.name == b.name
    if a.name.partition(", ")[2] != b.name.partition(", ")[2] or a.line_ns is None or b.line_ns is None:
        return False
    return max(a.line_ns, b.line_ns) < GAP * min(a.line_ns, b.line_ns)


def _runs(count: int) -> str:
    return f"{count} run{'' if count == 1 else 's'}"
