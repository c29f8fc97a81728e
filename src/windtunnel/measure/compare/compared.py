"""A comparison from what a user names: runs are read, scenarios are run first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError
from windtunnel.measure.compare.comparison_record import COMPARISON_VERSION, Change, Comparison, PairedRuns
from windtunnel.measure.compare.conditions import Condition, decide
from windtunnel.measure.compare.judge import BETWEEN_RUNS, judge
from windtunnel.measure.compare.paired_runs import (
    MOST_UNTIL_DECIDED,
    PAIRS,
    Contestant,
    Turn,
    directory_for,
    run_in_turn,
)
from windtunnel.measure.compare.sides import are_scenarios, sides
from windtunnel.measure.executor import Executor, ThisHost
from windtunnel.measure.study.record import document_of, validated
from windtunnel.runs.directories import make_directory
from windtunnel.runs.files import replace

NAME = "comparison.json"


@dataclass(frozen=True)
class Running:
    """How two scenarios are to be run. Without arguments: all defaults."""

    sets: Sequence[str] = ()
    sets_a: Sequence[str] = ()
    sets_b: Sequence[str] = ()
    pairs: int | None = None
    within_s: float | None = None
    seed: int | None = None
    change: Change | None = None
    until: Sequence[Condition] = ()
    """Pairs end as soon as one of these is met, or none is in doubt; empty: after `pairs`."""

    @property
    def asked(self) -> bool:
        """Whether any option was given."""
        return any(value is not None and value != () and value != [] for value in vars(self).values())


def compare(
    a: Path,
    b: Path,
    running: Running,
    directory: Path | None = None,
    between: float = BETWEEN_RUNS,
    announce: Callable[[Turn], None] = lambda turn: None,
    include_invalid: bool = False,
    force: bool = False,
    executor: Executor | None = None,
) -> tuple[Comparison, Path | None]:
    """The comparison, and the directory that holds it as comparison.json: `directory`, which is new, and for scenarios without
    one a directory below runs/. `force`: finished runs that are too few to show their spread are compared nevertheless.
    `executor`: of scenarios; None: this host. Raises UserError for bad input."""
    if are_scenarios(a, b):
        directory = directory or directory_for(a, b)
        comparison = _run(a, b, running, directory, between, announce, include_invalid, executor or ThisHost())
    else:
        if running.asked or executor:
            raise UserError(
                "--set, --state, --pairs, --on and similar options apply to scenarios, and these are finished runs",
                remedy="name two scenario files, or leave the options out",
            )
        comparison = judge(
            *sides(a, b, include_invalid=include_invalid), between, _pairs_ended_when_decided(a, b), force
        )
        if directory is not None:
            make_directory(directory)
    if directory is not None:
        keep(comparison, directory)
    return comparison, directory


def keep(comparison: Comparison, directory: Path) -> None:
    """Writes it into the directory, as comparison.json."""
    replace(directory / NAME, comparison.model_dump_json(indent=1) + "\n")


def _pairs_ended_when_decided(a: Path, b: Path) -> PairedRuns | None:
    """How the runs were made, if these are the sides of a comparison whose pairs ended as soon as they decided: their number is no fixed one."""
    if (a.name, b.name) not in (("a", "b"), ("b", "a")) or a.absolute().parent != b.absolute().parent:
        return None
    try:
        file = a.absolute().parent / NAME
        comparison = validated(file, Comparison, document_of(file, "comparison", COMPARISON_VERSION, ""))
    except UserError:
        return None
    return comparison.paired_runs if comparison.paired_runs and comparison.paired_runs.until_decided else None


def _run(
    a: Path,
    b: Path,
    running: Running,
    directory: Path,
    between: float,
    announce: Callable[[Turn], None],
    include_invalid: bool,
    executor: Executor,
) -> Comparison:
    runs = [directory / side for side in "ab"]

    def judged(paired_runs: PairedRuns) -> Comparison:
        return judge(*sides(runs[0], runs[1], include_invalid=include_invalid), between, paired_runs)

    def enough(paired_runs: PairedRuns) -> bool:
        decided = decide(running.until, judged(paired_runs))
        return bool(decided.met) or not decided.doubtful

    with Interrupts() as interrupts:
        paired_runs = run_in_turn(
            Contestant(a, [*running.sets, *running.sets_a]),
            Contestant(b, [*running.sets, *running.sets_b]),
            directory,
            interrupts,
            executor,
            pairs=running.pairs or (MOST_UNTIL_DECIDED if running.until else PAIRS),
            within_s=running.within_s,
            seed=1 if running.seed is None else running.seed,
            change=running.change,
            announce=announce,
            include_invalid=include_invalid,
            enough=enough if running.until else None,
        )
    if not all(map(Path.exists, runs)):
        raise UserError(
            f"{directory}: stopped before both scenarios had run", remedy="`windtunnel show` shows the one run"
        )
    return judged(paired_runs)
