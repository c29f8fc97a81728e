"""A comparison from what a user names: runs are read, scenarios are flown first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError
from windtunnel.measure.compare.judge import BETWEEN_RUNS, judge
from windtunnel.measure.compare.model import Change, Comparison
from windtunnel.measure.compare.sides import are_scenarios, sides
from windtunnel.measure.compare.turns import PAIRS, Contestant, Turn, directory_for, fly_in_turn
from windtunnel.runs.files import replace
from windtunnel.runs.writer import make_directory

NAME = "comparison.json"


@dataclass(frozen=True)
class Flying:
    """How two scenarios are to be flown; as it is made without arguments it says nothing."""

    sets: Sequence[str] = ()
    sets_a: Sequence[str] = ()
    sets_b: Sequence[str] = ()
    pairs: int | None = None
    within_s: float | None = None
    seed: int | None = None
    change: Change | None = None

    @property
    def asked(self) -> bool:
        """Whether anything was said."""
        return any(value is not None and value != () and value != [] for value in vars(self).values())


def compare(
    a: Path,
    b: Path,
    flying: Flying,
    directory: Path | None = None,
    between: float = BETWEEN_RUNS,
    announce: Callable[[Turn], None] = lambda turn: None,
) -> tuple[Comparison, Path | None]:
    """The comparison, and the directory that holds it as comparison.json: `directory`, which is new, and for scenarios without
    one a directory below runs/. Raises UserError for bad input."""
    if are_scenarios(a, b):
        directory = directory or directory_for(a, b)
        comparison = _flown(a, b, flying, directory, between, announce)
    else:
        if flying.asked:
            raise UserError(
                "runs have flown already, and no key of theirs can be set",
                remedy="--set, --pairs and their like: for scenarios",
            )
        comparison = judge(*sides(a, b), between)
        if directory is not None:
            make_directory(directory)
    if directory is not None:
        replace(directory / NAME, comparison.model_dump_json(indent=1) + "\n")
    return comparison, directory


def _flown(
    a: Path, b: Path, flying: Flying, directory: Path, between: float, announce: Callable[[Turn], None]
) -> Comparison:
    with Interrupts() as interrupts:
        flown = fly_in_turn(
            Contestant(a, [*flying.sets, *flying.sets_a]),
            Contestant(b, [*flying.sets, *flying.sets_b]),
            directory,
            interrupts,
            pairs=flying.pairs or PAIRS,
            within_s=flying.within_s,
            seed=1 if flying.seed is None else flying.seed,
            change=flying.change,
            announce=announce,
        )
    runs = [directory / side for side in "ab"]
    if not all(map(Path.exists, runs)):
        raise UserError(
            f"{directory}: ended before both had flown", remedy="windtunnel show has the one run that is there"
        )
    return judge(*sides(*runs), between, flown)
