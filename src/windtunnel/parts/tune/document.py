"""A tuning as a document: its space before it runs; the path of its trials, what matters and the winner after it."""

from collections.abc import Iterator, Sequence

from windtunnel.format import DASH
from windtunnel.parts.tune import charts
from windtunnel.parts.tune.first import Move, common_sense
from windtunnel.parts.tune.propose import importances
from windtunnel.parts.tune.sentences import (
    difference_words,
    gain_words,
    latency_words,
    pairs_counted,
    sentences,
)
from windtunnel.parts.tune.tuner import Prepared, Tuned
from windtunnel.parts.tune.tuning_record import TrialRecord
from windtunnel.parts.tune.winner import NAME as BEST
from windtunnel.results.document import (
    Block,
    Chart,
    Document,
    Fold,
    Listing,
    Panel,
    Section,
    Sentence,
    Table,
    Tone,
    columns_of,
)
from windtunnel.results.host import host_section


def plan_document(prepared: Prepared) -> Document:
    """The factors with their levels, and the moves that can be made first."""
    space = prepared.space
    start, exact = space.file_point()
    column = columns_of(list(zip(space.factors, start, strict=True)))
    factors = Table(
        [
            column("factor", lambda row: row[0].name, words=True),
            column("file", lambda row: row[0].levels.members[row[1]].label if exact else DASH),
            column("levels", lambda row: ", ".join(level.label for level in row[0].levels.members), words=True),
        ]
    )
    moves = [Sentence(f"  {space.changes(point)}: {move.why}", unwrapped=True) for move, point in first_moves(prepared)]
    return Document(
        kind="plan of a tuning",
        title=f"{prepared.scenario.title}: {prepared.goal.text}",
        notes=[f"{space.size:,} points of {len(space.factors)} factors; those that cannot run here are left out"],
        blocks=[
            factors,
            Section(
                "first moves, before them what a diagnosis of the best so far would change", moves, terminal="titled"
            ),
        ],
    )


def first_moves(prepared: Prepared) -> list[tuple[Move, tuple[int, ...]]]:
    """The moves of common sense that can run here, each with its point of the space."""
    space = prepared.space
    start, _ = space.file_point()
    return [
        (move, point)
        for move in common_sense(prepared.scenario)
        if (point := space.at(start, move.changes)) is not None and space.refused(point) is None
    ]


def tuning_document(tuned: Tuned, files: Sequence[tuple[str, str]] = (), best_text: str | None = None) -> Document:
    """Every trial, what follows from them, and the winner. `best_text`: what best.toml holds, for pages."""
    record = tuned.record
    scenario = Fold("The scenario", [Listing(record.scenario.text)])
    return Document(
        kind="tuning",
        title=record.title,
        question=record.question or None,
        at=record.started,
        how=[
            record.goal.text,
            f"{tuned.counted} trials",
            f"{record.points:,} points of {len(record.factors)} factors",
        ],
        notes=[f"set for every trial: {', '.join(record.sets)}"] if record.sets else [],
        blocks=[
            *_sections(tuned),
            *([Section(BEST, [Listing(best_text)], terminal="absent")] if best_text is not None else []),
            host_section(record.host, record.versions, folds=[scenario]),
        ],
        verdict=_verdict(tuned),
        files=files,
        made_from="Made from tuning.json and trials/ beside this file. How a trial is decided: the page “How the tuner decides” of the "
        "documentation.",
    )


def _sections(tuned: Tuned) -> Iterator[Section]:
    if plot := charts.path(tuned):
        yield Section(
            "Path",
            [Chart(plot)],
            about="Throughput over the file’s, from incumbent to incumbent: errors add up along the path, and the winner is the best of many. "
            "Only the fresh measurement tells what it gains. Bars: the interval of the difference from the incumbent, corrected for the looks.",
        )
    if tuned.record.objective == "pareto":
        yield _front_section(tuned)
    if shares := importances(tuned.factors, tuned.samples):
        yield Section(
            "What matters",
            [Chart(charts.importance(shares))],
            about="Share of each factor in what makes a trial one of the best (PED-ANOVA over the trials). The trials are few and were chosen to "
            "be good: a factor with a small share may matter where nothing was tried.",
        )
    if tuned.trials:
        yield Section("Every trial", [_trial_table(tuned)])


def _front_section(tuned: Tuned) -> Section:
    column = columns_of(tuned.front)
    table = Table(
        [
            column("front: trial", lambda trial: str(trial.number)),
            column("over file", gain_words),
            *([column("latency", _latency)] if tuned.record.goal.latency else []),
            column("CPUs", lambda trial: str(trial.workers)),
            column("settings", lambda trial: trial.words, words=True),
        ]
    )
    blocks: list[Block] = [Chart(plot)] if (plot := charts.front(tuned)) else []
    return Section(
        "Front",
        [*blocks, table],
        about="No other trial is better in one objective without losing in the other. By estimates, not by intervals: neighbours may be alike.",
    )


def _trial_table(tuned: Tuned) -> Table:
    column = columns_of(tuned.trials)
    goal = tuned.record.goal
    compared = [
        column("difference", difference_words),
        column("pairs", lambda trial: str(pairs_counted(trial)), spare=2),
        column("over file", gain_words),
    ]
    return Table(
        [
            column("trial", lambda trial: str(trial.number)),
            column("against", lambda trial: str(trial.incumbent) if trial.number else DASH),
            *(compared if goal.pairs else []),
            *([column("latency", _latency)] if goal.latency else []),
            column("CPUs", lambda trial: str(trial.workers), spare=1),
            column("outcome", lambda trial: trial.failure or trial.outcome, words=True),
            column("settings", lambda trial: trial.words, words=True),
            column("why", _why, words=True, spare=3),
        ]
    )


def _why(trial: TrialRecord) -> str:
    return "; ".join([trial.why, *trial.reasons])


def _latency(trial: TrialRecord) -> str:
    return latency_words(trial.latency) if trial.latency else DASH


def _verdict(tuned: Tuned) -> Panel:
    title, tone = _outcome(tuned)
    return Panel(title, [Sentence(line) for line in sentences(tuned)], tone)


def _outcome(tuned: Tuned) -> tuple[str, Tone]:
    if tuned.final is not None:
        return ("winner confirmed", "good") if tuned.final.confirmed else ("winner not confirmed", "warning")
    if tuned.best is not None:
        return "winner not measured again", "warning"
    return (f"front of {len(tuned.front)} settings", "good") if tuned.front else ("no winner", "plain")
