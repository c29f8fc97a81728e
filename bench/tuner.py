"""How many trials does the tuner need? Its search, random search, TPE and hill climbing on recorded surfaces; no engine runs but in `record`.

A surface is a file of JSON lines. The first one has the scenario, relative to the surface, and the space file's text. Each other one
has a point, one sample, and the remedies that a diagnosis of this point's run has. A sample is the natural logarithm of the point's throughput
over the file's, of one pair of runs in turn. `record` makes pairs, point by point in a random order, until its time is over, and goes on where
it stopped.

    bench/tuner.py record scenarios/echo.toml --space bench/surfaces/echo-bursts.toml --surface bench/surfaces/echo-bursts.jsonl
    bench/tuner.py compare bench/surfaces/echo-bursts.jsonl

A method gets single draws from one half of a point's samples. What it would have chosen after each pair is scored by the mean of the other
half. Counted are the trials, and the pairs that they took, after which the choice stays within 5% of the best point.
"""

import argparse
import functools
import itertools
import json
import math
import os
import random
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.options import positive
from harness.results import console
from rich.table import Table

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError
from windtunnel.measure.executor import ThisHost
from windtunnel.measure.study.constraints import Combination
from windtunnel.parts.tune.first import Move, remedies
from windtunnel.parts.tune.goal import Goal
from windtunnel.parts.tune.propose import TrialSample, suggest
from windtunnel.parts.tune.rig import Engines, Measured, Sets, Side
from windtunnel.parts.tune.space import Space, from_file
from windtunnel.parts.tune.trial import Trial
from windtunnel.parts.tune.tuner import History, Prepared
from windtunnel.runs import load
from windtunnel.scenario import here

WITHIN = 0.05
"""Of the best point."""
LEAST_SAMPLES = 3
"""Of a point: one for the draws, two for the score."""


@dataclass(frozen=True)
class Surface:
    """What was recorded."""

    space: Space
    start: Combination
    samples: dict[Combination, list[float]]
    remedies: dict[Combination, list[list[Move]]]
    """Of each diagnosis that was recorded with a sample."""


@dataclass
class Halves:
    """One way to split the samples of each point; draws come from the first half, scores from the second."""

    surface: Surface
    dice: random.Random

    def __post_init__(self) -> None:
        self.drawn_from: dict[Combination, list[float]] = {}
        self.score: dict[Combination, float] = {}
        for point, samples in self.surface.samples.items():
            mixed = self.dice.sample(samples, len(samples))
            half = len(mixed) // 2
            self.drawn_from[point] = mixed[:half]
            self.score[point] = statistics.fmean(mixed[half:])

    @property
    def best(self) -> float:
        return max(self.score.values())

    def draw(self, point: Combination) -> float:
        return self.dice.choice(self.drawn_from[point])

    def good(self, point: Combination) -> bool:
        return self.score[point] >= self.best + math.log(1 - WITHIN)


@dataclass(frozen=True)
class Step:
    """The state after a trial."""

    chosen: Combination
    pairs: int
    """So far."""


class Recorded:
    """A rig that draws from a surface: the file is the reference of every sample."""

    def __init__(self, halves: Halves):
        self.halves = halves
        self.points = {halves.surface.space.sets(point): point for point in halves.surface.samples}
        self.ran: dict[tuple[Path, Side], Combination] = {}

    def pair(self, incumbent: Sets, candidate: Sets, directory: Path, number: int) -> tuple[Measured, Measured]:
        of_incumbent, of_candidate = (self.points[tuple(sets)] for sets in (incumbent, candidate))
        self.ran |= {(directory, "incumbent"): of_incumbent, (directory, "candidate"): of_candidate}
        a, b = self.halves.draw(of_incumbent), self.halves.draw(of_candidate)
        return Measured(math.exp(a)), Measured(math.exp(b))

    def remedies(self, directory: Path, side: Side, number: int) -> Sequence[Move]:
        known = self.halves.surface.remedies.get(self.ran[directory, side])
        return self.halves.dice.choice(known) if known else ()

    def alone(self, sets: Sets, directory: Path) -> Measured:
        raise AssertionError("throughput alone is recorded")


def ours(halves: Halves, seed: int) -> Iterator[Step]:
    surface = halves.surface
    rig, pairs = Recorded(halves), 0
    history = History(Prepared(Path(), surface.space, None, Goal("throughput"), seed), rig)
    while (candidate := history.next()) is not None:
        earlier = [
            [math.log(p.candidate / p.incumbent) for p in t.pairs if p.candidate and p.incumbent]
            for t in history.trials
        ]
        number = len(history.trials) + 1
        directory = history.directory(number)
        trial = Trial(number, candidate, history.incumbent, history.prepared.goal, rig, directory, earlier).run()
        history.trials.append(trial)
        pairs += len(trial.pairs)
        yield Step(history.incumbent_point, pairs)


def at_random(halves: Halves, seed: int) -> Iterator[Step]:
    points = sorted(halves.surface.samples.keys() - {halves.surface.start})
    yield from _best_draw(halves, iter(random.Random(seed).sample(points, len(points))))


def tpe(halves: Halves, seed: int) -> Iterator[Step]:
    """optuna's, without first moves and without pairs against an incumbent."""
    seen = [TrialSample(halves.surface.start, (0.0,))]
    best = halves.surface.start, 0.0
    for number in range(len(halves.surface.samples) - 1):
        tried = {each.point for each in seen}

        def new(point: Combination, tried: set[Combination] = tried) -> bool:
            return point in halves.surface.samples and point not in tried

        point = suggest(halves.surface.space, seen, new, best[0], seed * 100_003 + number, changed=None)
        if point is None:
            return
        seen.append(TrialSample(point, (halves.draw(point),)))
        best = max(best, (point, seen[-1].values[0]), key=lambda each: each[1])
        yield Step(best[0], number + 1)


def hill_climbing(halves: Halves, seed: int) -> Iterator[Step]:
    """One level of one factor at a time; a better draw is taken. From a top it begins again at a random point."""
    dice, space, known = random.Random(seed), halves.surface.space, halves.surface.samples
    tried = {halves.surface.start}
    here_now, level = halves.surface.start, 0.0
    best, pairs = (here_now, level), 0
    while tried != known.keys():
        around = [point for point in space.neighbours(here_now) if point in known and point not in tried]
        if around:
            point = dice.choice(around)
        else:
            point, level = dice.choice(sorted(known.keys() - tried)), -math.inf
        tried.add(point)
        drawn = halves.draw(point)
        pairs += 1
        if drawn > level:
            here_now, level = point, drawn
        best = max(best, (point, drawn), key=lambda each: each[1])
        yield Step(best[0], pairs)


def _best_draw(halves: Halves, points: Iterator[Combination]) -> Iterator[Step]:
    best = halves.surface.start, 0.0
    for pairs, point in enumerate(points, start=1):
        best = max(best, (point, halves.draw(point)), key=lambda each: each[1])
        yield Step(best[0], pairs)


def pipetune(halves: Halves, seed: int) -> Iterator[Step]:
    """PipeTune's search, under an oracle's diagnosis: it changes one thing at a time, and keeps what is better. The oracle knows what was
    recorded, and names the one level of one factor that brings the most; it ends where none brings anything. What a noisy draw refused is tried
    again."""
    space, known, dice = halves.surface.space, halves.surface.samples, random.Random(seed)
    level_of = {point: statistics.fmean(samples) for point, samples in known.items()}
    here_now, level = halves.surface.start, 0.0
    for pairs in itertools.count(1):
        around = [point for point in space.neighbours(here_now) if point in known]
        dice.shuffle(around)
        best = max(around, key=lambda point: level_of[point])
        if level_of[best] <= level_of[here_now]:
            return
        if (drawn := halves.draw(best)) > level:
            here_now, level = best, drawn
        yield Step(here_now, pairs)


RUN: dict[str, Callable[[Halves, int], Iterator[Step]]] = {
    "ours": ours,
    "random": at_random,
    "TPE": tpe,
    "hill climbing": hill_climbing,
    "PipeTune": pipetune,
}


def needed(halves: Halves, steps: Sequence[Step]) -> tuple[int, int] | None:
    """Trials and pairs from which on the choice is good; None: it is not at the end."""
    if halves.good(halves.surface.start) and all(halves.good(step.chosen) for step in steps):
        return 0, 0
    first = len(steps)
    while first and halves.good(steps[first - 1].chosen):
        first -= 1
    return None if first == len(steps) else (first + 1, steps[first].pairs)


def read(file: Path) -> Surface:
    """Raises UserError for a file that is no surface."""
    try:
        head, *rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        scenario, text = file.parent / head["scenario"], head["space"]
        samples: dict[Combination, list[float]] = {}
        moves: dict[Combination, list[list[Move]]] = {}
        for row in rows:
            samples.setdefault(tuple(row["point"]), []).append(float(row["sample"]))
            if "remedies" in row:
                moves.setdefault(tuple(row["point"]), []).append([Move(**move) for move in row["remedies"]])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file}: not a surface: {error}", remedy="bench/tuner.py record makes one") from None
    with TemporaryDirectory() as directory:
        space_file = Path(directory) / "space.toml"
        space_file.write_text(text)
        space = from_file(scenario, space_file, [], here())
    start = space.file_point()[0]
    samples = {point: those for point, those in samples.items() if len(those) >= LEAST_SAMPLES}
    samples.setdefault(start, [0.0] * LEAST_SAMPLES)  # the reference of every sample
    space.allowed = frozenset(samples)
    return Surface(space, start, samples, moves)


cached = functools.cache(read)


def compare(files: Sequence[Path], seeds: int, budget: int) -> Table:
    table = Table(
        title=f"trials until within {WITHIN:.0%} of the best, {seeds} seeds; medians, and in how many it came about"
    )
    for head in ("surface", "points", "best", *(f"{method}: trials (pairs), found" for method in RUN)):
        table.add_column(head, justify="right")
    for file in files:
        surface = read(file)
        with ProcessPoolExecutor() as pool:
            rows = list(pool.map(one_seed, itertools.repeat(file), range(1, seeds + 1), itertools.repeat(budget)))
        found = {method: [row[method] for row in rows] for method in RUN}
        best = max(map(statistics.fmean, surface.samples.values()))
        table.add_row(
            file.stem,
            str(len(surface.samples)),
            f"{math.expm1(best):+.1%}",
            *(_cell(found[method], budget) for method in RUN),
        )
    return table


def one_seed(file: Path, seed: int, budget: int) -> dict[str, tuple[int, int] | None]:
    """What each method needed."""
    found = {}
    for method, run in RUN.items():
        halves = Halves(cached(file), random.Random(f"{seed} {method}"))
        steps = [step for _, step in zip(range(budget), run(halves, seed), strict=False)]
        found[method] = needed(halves, steps)
    return found


def _cell(found: Sequence[tuple[int, int] | None], budget: int) -> str:
    """A seed that did not come there counts as more than the budget."""
    trials = statistics.median(each[0] if each else math.inf for each in found)
    pairs = statistics.median(each[1] if each else math.inf for each in found)
    share = sum(each is not None for each in found)
    return f"{trials:g} ({pairs:g}), {share}" if math.isfinite(trials) else f"> {budget}, {share}"


def record(scenario: Path, space_file: Path, file: Path, within_s: float, seed: int) -> int:
    """Appends samples; returns how many."""
    began, count, pairs = time.monotonic(), 0, 0
    space = from_file(scenario, space_file, [], here())
    points = [point for point in space.drawn(random.Random(seed), space.size) if space.refused(point) is None]
    if not file.exists():
        file.write_text(json.dumps({"scenario": os.path.relpath(scenario, file.parent), "space": space.text}) + "\n")
    taken = [tuple(json.loads(line)["point"]) for line in file.read_text().splitlines()[1:]]
    times = {point: taken.count(point) for point in points}
    with Interrupts() as interrupts, TemporaryDirectory() as directory, file.open("a") as out:
        rig = Engines(space, ThisHost(), interrupts, seed)
        while time.monotonic() - began < within_s and not interrupts.count:
            point = min(points, key=lambda each: times[each])
            times[point] += 1
            pairs += 1
            place = Path(directory) / str(pairs)
            a, b = rig.pair((), space.sets(point), place, times[point])
            if a.rate and b.rate and not (a.failure or b.failure):
                moves = remedies(load(place / "candidate" / f"{times[point]:02}"))
                row = {"point": point, "sample": math.log(b.rate / a.rate), "state": a.where.state, "remedies": moves}
                out.write(json.dumps(row, default=asdict) + "\n")
                out.flush()
                count += 1
            shutil.rmtree(place, ignore_errors=True)
    return count


def main() -> None:
    """Exit codes: 0 done, 2 bad input."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    made = commands.add_parser("record", help="measure a surface")
    made.add_argument("scenario", type=Path)
    made.add_argument("--space", type=Path, required=True, metavar="FILE", help="factors, as a study file has them")
    made.add_argument("--surface", type=Path, required=True, metavar="FILE", help="where the samples go")
    made.add_argument("--within", type=positive(float), default=170.0, metavar="SECONDS", help="time of this call")
    made.add_argument("--seed", type=int, default=1)
    told = commands.add_parser("compare", help="methods on recorded surfaces")
    told.add_argument("surfaces", type=Path, nargs="+")
    told.add_argument("--seeds", type=positive(int), default=50)
    told.add_argument("--budget", type=positive(int), default=20, metavar="N", help="trials of each method")
    given = parser.parse_args()
    try:
        if given.command == "record":
            count = record(given.scenario, given.space, given.surface, given.within, given.seed)
            console().print(f"{count} samples more in {given.surface}")
        else:
            console().print(compare(given.surfaces, given.seeds, given.budget))
    except UserError as error:
        console().print(f"[red]{error.message}[/]" + (f"\n{error.remedy}" if error.remedy else ""))
        sys.exit(2)


if __name__ == "__main__":
    main()
