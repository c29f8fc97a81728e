"""Remedies run against the file, in turns: what each brought, beside what was predicted."""

from collections.abc import Callable, Sequence
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.measure.compare.compared import Running, compare
from windtunnel.measure.compare.paired_runs import Turn
from windtunnel.parts.diagnose.model import Cause, Diagnosis, Tried

PAIRS = 8
"""The fewest by which ranks decide."""


def try_remedies(
    diagnosis: Diagnosis,
    file: Path,
    sets: Sequence[str],
    most: int,
    directory: Path,
    announce: Callable[[Turn], None] = lambda turn: None,
) -> list[Tried]:
    """The remedies of the first causes that --set can apply, at most so many, each compared with the file in a new directory below
    `directory`, which has the cause's code as its name. A remedy that the scenario refuses says why. After one that the user has ended
    there is no further one. Raises UserError if runs cannot be kept, or are too few to be compared."""
    rows: list[Tried] = []
    for cause in [cause for cause in diagnosis.causes if cause.sets][:most]:
        rows.append(_tried(cause, file, sets, directory / cause.code, announce))
        if rows[-1].interrupted:
            break
    return rows


def _tried(cause: Cause, file: Path, sets: Sequence[str], directory: Path, announce: Callable[[Turn], None]) -> Tried:
    running = Running(sets=list(sets), sets_b=cause.sets, pairs=PAIRS)
    try:
        comparison, _ = compare(file, file, running, directory, announce=announce)
    except UserError as error:
        if directory.exists():
            raise  # it ran: the scenario did not refuse it
        return Tried(code=cause.code, sets=cause.sets, predicted=cause.gain, verdict=f"refused: {error.message}")
    (point,) = comparison.points
    judged = point.judged[0]
    measure = next((m for m in point.measures if (m.workload, m.metric) == (judged.workload, judged.decided_by)), None)
    interval = measure.interval if measure else None
    return Tried(
        code=cause.code,
        sets=cause.sets,
        predicted=cause.gain,
        metric=judged.decided_by,
        percent=interval and interval.percent,
        low=interval and interval.low,
        high=interval and interval.high,
        verdict=f"{judged.verdict}: {judged.reasons[0]}" if judged.reasons else judged.verdict,
        directory=str(directory),
        interrupted=comparison.paired_runs is not None and comparison.paired_runs.stopped == "interrupted",
    )
