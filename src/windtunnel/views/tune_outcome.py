"""Output of `tune`: before it runs, with --plan, and at its end."""

from collections.abc import Sequence
from json import dumps
from pathlib import Path
from typing import Any

from rich.text import Text

from windtunnel.errors import UserError, as_argument
from windtunnel.format import DASH
from windtunnel.tune.first import common_sense
from windtunnel.tune.tuner import FAILED_TRIALS, Prepared, Tuned
from windtunnel.views.terminal.columns import Column, Fitting
from windtunnel.views.terminal.console import progress, results
from windtunnel.views.terminal.messages import show_error
from windtunnel.views.tune_words import (
    difference_words,
    gain_words,
    latency_words,
    pairs_counted,
    sentences,
)

DOCUMENT_VERSION = 1
MOST_ROWS = 60


def write_report(tuned: Tuned) -> Path | None:
    """Where the report is; None where nothing has run, or where it could not be written, which is said on stderr."""
    from windtunnel.views.pages.tune_page import write

    if not tuned.trials:
        return None
    try:
        return write(tuned)
    except UserError as error:
        show_error(error)
        return None


def print_plan(prepared: Prepared, json: bool) -> None:
    """The factors with their levels, and the moves that can be made first."""
    space = prepared.space
    start, exact = space.file_point()
    moves = [
        (move, point)
        for move in common_sense(prepared.scenario)
        if (point := space.at(start, move.changes)) is not None and space.refused(point) is None
    ]
    if json:
        document = {
            "version": DOCUMENT_VERSION,
            "goal": prepared.goal.words,
            "points": space.size,
            "factors": {factor.name: [level.label for level in factor.levels.each] for factor in space.factors},
            "file": {f.name: f.levels.each[i].label for f, i in zip(space.factors, start, strict=True)}
            if exact
            else None,
            "first": [{"sets": list(space.sets(point)), "why": move.why} for move, point in moves],
        }
        print(dumps(document, indent=1, ensure_ascii=False))
        return
    console = results()
    console.print(Text(f"{prepared.scenario.title}: {prepared.goal.words}", style="bold"))
    console.print(
        f"{space.size:,} points of {len(space.factors)} factors; those that cannot run here are left out",
        soft_wrap=True,
    )
    console.print()
    columns = [
        Column("factor", [factor.name for factor in space.factors], words=True),
        Column("file", [f.levels.each[i].label if exact else DASH for f, i in zip(space.factors, start, strict=True)]),
        Column(
            "levels", [", ".join(level.label for level in factor.levels.each) for factor in space.factors], words=True
        ),
    ]
    console.print(Fitting(columns))
    console.print()
    console.print("first moves, before them what a diagnosis of the best so far would change")
    for move, point in moves:
        console.print(Text(f"  {space.changes(point)}: {move.why}"), soft_wrap=True)


def print_json(tuned: Tuned, page: Path | None) -> None:
    document: dict[str, Any] = {
        "version": DOCUMENT_VERSION,
        "path": str(tuned.path),
        "title": tuned.record.title,
        "goal": tuned.record.goal.words,
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
    print(dumps(document, indent=1, ensure_ascii=False))


def print_tables(tuned: Tuned, page: Path | None, others: Sequence[Path]) -> None:
    """Every trial, the findings, and the paths of the files; `others`: the winner in other formats."""
    console = results()
    console.print(Text(f"{tuned.record.title}: {tuned.record.goal.words}", style="bold"))
    console.print()
    if tuned.trials:
        console.print(_trials(tuned))
    for sentence in sentences(tuned):
        console.print()
        console.print(sentence, soft_wrap=True)
    console.print()
    files = [("tuning", tuned.path), ("best", tuned.best_file), *(("", path) for path in others), ("report", page)]
    for name, path in files:
        if path is not None:
            console.print(Text.assemble((f"{name:<8}", "dim"), str(path)), soft_wrap=True)


def say_how_to_go_on(tuned: Tuned, file: Path) -> None:
    """On stderr, so that stdout stays machine-readable."""
    progress().print(
        f"stopped after {tuned.counted} trials; continue with the same command and --out {as_argument(tuned.path)}",
        soft_wrap=True,
    )


def say_failing(tuned: Tuned, file: Path) -> None:
    """What five trials in a row have failed of, on stderr. What crashes or is refused does so on any host."""
    last = [*tuned.failed, *tuned.of_file_failed][-FAILED_TRIALS:]
    why = "; ".join(last[-1].reasons)
    busy = all(trial.failure in ("invalid", "hung") for trial in last)
    words = f"{'the host is too busy: ' if busy else ''}five trials in a row failed, the last one: {why}"
    remedy = "windtunnel host doctor, then the same command again" if busy else f"windtunnel run {as_argument(file)}"
    console = progress()
    console.print(words, soft_wrap=True)
    console.print(f"try: {remedy}", soft_wrap=True)


def _trials(tuned: Tuned) -> Fitting:
    shown = tuned.trials[:MOST_ROWS]
    columns = [
        Column("trial", [str(trial.number) for trial in shown]),
        Column("against", [str(trial.incumbent) if trial.number else DASH for trial in shown]),
    ]
    if tuned.record.goal.pairs:
        columns.append(Column("difference", [difference_words(trial) for trial in shown]))
        columns.append(Column("pairs", [str(pairs_counted(trial)) for trial in shown], spare=2))
        columns.append(Column("over file", [gain_words(trial) for trial in shown]))
    if tuned.record.goal.latency:
        columns.append(Column("latency", [latency_words(t.latency) if t.latency else DASH for t in shown]))
    columns.append(Column("CPUs", [str(trial.workers) for trial in shown], spare=1))
    columns.append(Column("outcome", [trial.failure or trial.outcome for trial in shown], words=True))
    columns.append(Column("settings", [trial.words for trial in shown], words=True))
    return Fitting(columns)
