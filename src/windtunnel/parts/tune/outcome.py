"""What `tune` writes and says when it has ended."""

from pathlib import Path
from typing import Any

from windtunnel.errors import UserError, as_argument
from windtunnel.parts.tune.document import first_moves, tuning_document
from windtunnel.parts.tune.sentences import sentences
from windtunnel.parts.tune.tuner import FAILED_TRIALS, Prepared, Tuned
from windtunnel.results.page.files import REPORT, write_page
from windtunnel.results.terminal.console import progress
from windtunnel.results.terminal.messages import show_error
from windtunnel.text_file import MOST_RECORD_BYTES, read_regular

TUNING_VERSION = 1


def write_report(tuned: Tuned) -> Path | None:
    """Writes report.html into the tuning's directory and returns its path; None if nothing has run, or if it could not be written, which is
    said on stderr."""
    if not tuned.trials:
        return None
    try:
        best = read_regular(tuned.best_file, MOST_RECORD_BYTES).decode() if tuned.best_file else None
        return write_page(tuning_document(tuned, best_text=best), tuned.path / REPORT)
    except UserError as error:
        show_error(error)
        return None


def plan_json(prepared: Prepared) -> dict[str, Any]:
    """The plan for machines."""
    space = prepared.space
    start, exact = space.file_point()
    return {
        "version": TUNING_VERSION,
        "goal": prepared.goal.text,
        "points": space.size,
        "factors": {factor.name: [level.label for level in factor.levels.members] for factor in space.factors},
        "file": {f.name: f.levels.members[i].label for f, i in zip(space.factors, start, strict=True)}
        if exact
        else None,
        "first": [{"sets": list(space.sets(point)), "why": move.why} for move, point in first_moves(prepared)],
    }


def tuning_json(tuned: Tuned, page: Path | None) -> dict[str, Any]:
    """The tuning for machines."""
    return {
        "version": TUNING_VERSION,
        "path": str(tuned.path),
        "title": tuned.record.title,
        "goal": tuned.record.goal.text,
        "stopped": tuned.stopped,
        "trials": len(tuned.trials),
        "counted": tuned.counted,
        "failed": len(tuned.failed),
        "best": tuned.best.model_dump(mode="json") if tuned.best else None,
        "final": tuned.final.model_dump(mode="json") if tuned.final else None,
        "front": [trial.number for trial in tuned.front],
        "findings": sentences(tuned),
        "best_file": str(tuned.best_file) if tuned.best_file else None,
        "report": str(page) if page else None,
    }


def say_how_to_go_on(tuned: Tuned) -> None:
    """On stderr, so that stdout stays machine-readable."""
    progress().print(
        f"stopped after {tuned.counted} trials; continue with the same command and --out {as_argument(tuned.path)}",
        soft_wrap=True,
    )


def say_failing(tuned: Tuned, file: Path) -> None:
    """Why five trials in a row have failed, on stderr. What crashes or is refused does so on any host."""
    last = [*tuned.failed, *tuned.of_file_failed][-FAILED_TRIALS:]
    why = "; ".join(last[-1].reasons)
    busy = all(trial.failure in ("invalid", "hung") for trial in last)
    reason = f"{'the host is too busy: ' if busy else ''}five trials in a row failed, the last one: {why}"
    remedy = "windtunnel host doctor, then the same command again" if busy else f"windtunnel run {as_argument(file)}"
    console = progress()
    console.print(reason, soft_wrap=True)
    console.print(f"try: {remedy}", soft_wrap=True)
