"""Runs two scenarios in pairs, each pair in random order, so that changes of the host affect both alike."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError, as_argument
from windtunnel.host.states import Where, groups
from windtunnel.live.process import ANNOUNCEMENT
from windtunnel.measure.compare.comparison_record import Change, PairedRuns, Stopped
from windtunnel.measure.compare.obstacles import no_common_workload
from windtunnel.measure.compare.pair import Pair, change_after
from windtunnel.measure.execute import new_directory
from windtunnel.measure.executor import Executor
from windtunnel.part_registry import part_functions
from windtunnel.runs.directories import make_directory
from windtunnel.scenario import Cable, Scenario, load, resolve
from windtunnel.scenario.topology import workload_names
from windtunnel.stats.differences import LEAST_LOOKED_AT

PAIRS = 15
MOST_UNTIL_DECIDED = 60
"""Pairs, if they end as soon as they decide and nobody says how many."""
START_S = 1.5
"""Time that a run takes besides its windows; measured as soon as one has ended."""
HOPELESS = 5
"""Runs of one side; if all of them are invalid no more are run."""
MOST_RUN = 2
"""Times the requested pairs: one with an invalid run, or of another state than most, is run again, up to this many in all."""


@dataclass(frozen=True)
class Contestant:
    """One of the two scenarios. Raises UserError from `scenario` as `windtunnel run` would."""

    file: Path
    sets: Sequence[str]

    def scenario(self) -> Scenario:
        return load(self.file, list(self.sets))


@dataclass(frozen=True)
class Turn:
    """A run, or two alternating runs, about to start."""

    running: str
    """"A runs", "B runs" or "A and B run"."""
    done_pairs: int
    """Valid ones of one state of the host."""
    pairs: int
    done: float
    """Share of all that will be run."""
    left_s: float


@dataclass
class _Turns:
    """The state of the runs."""

    pairs: int
    within_s: float | None
    seed: int
    change: Change
    until_decided: bool
    began: float = field(default_factory=time.monotonic)
    valid: tuple[list[Where | None], list[Where | None]] = field(default_factory=lambda: ([], []))
    """State of the host of each side's runs; None: invalid."""

    @property
    def finished(self) -> int:
        return sum(map(len, self.valid))

    @property
    def _valid_pairs(self) -> list[tuple[Where, Where]]:
        return [(a, b) for a, b in zip(*self.valid, strict=False) if a and b]

    @property
    def done_pairs(self) -> int:
        """Valid ones, in the state of the host that most of them share."""
        of_state = groups(self._valid_pairs)
        return len(of_state[0].positions) if of_state else 0

    def run_s(self, planned_s: float) -> float:
        """Length of a run, as far as it is known."""
        return (time.monotonic() - self.began) / self.finished if self.finished else planned_s

    def left_s(self, planned_s: float) -> float:
        missing = self.pairs - self.done_pairs - self.finished % 2 / 2
        left = 2 * missing * self.run_s(planned_s)
        return left if self.within_s is None else min(left, self.within_s - (time.monotonic() - self.began))

    def out_of_time(self, planned_s: float) -> bool:
        """Whether another pair would end too late. There is always one."""
        spent = time.monotonic() - self.began
        return self.within_s is not None and self.finished > 0 and spent + 2 * self.run_s(planned_s) > self.within_s

    def turn(self, running: str, planned_s: float) -> Turn:
        spent, left = time.monotonic() - self.began, self.left_s(planned_s)
        return Turn(running, self.done_pairs, self.pairs, spent / (spent + left) if left > 0 else 1.0, left)

    def result(self, stopped: Stopped) -> PairedRuns:
        return PairedRuns(
            pairs_wanted=self.pairs,
            pairs=self.done_pairs,
            seed=self.seed,
            change=self.change,
            until_decided=self.until_decided,
            stopped=stopped,
        )

    @property
    def hopeless(self) -> bool:
        return any(len(side) >= HOPELESS and not any(side) for side in self.valid)

    @property
    def short_of(self) -> Stopped:
        """What was missing if not all pairs came about: valid runs, or runs of one state."""
        return "states" if len(self._valid_pairs) >= self.pairs else "failed"


def directory_for(a: Path, b: Path) -> Path:
    """The default directory: runs/<UTC time>-<a>-against-<b>."""
    return new_directory(f"{a.stem}-against-{b.stem}")


def _check_workloads(a: Sequence[str], b: Sequence[str]) -> None:
    """Raises UserError for names of workloads that none of the other side has: no run would be compared."""
    if set(a) & set(b):
        return
    remedy = "give workloads that belong together the same `name`"
    if len(a) == len(b) == 1:
        remedy = f"--set-b {as_argument(f'workload.0.name={a[0]}')}"
    raise UserError(no_common_workload(a, b), remedy=remedy)


def run_in_turn(
    a: Contestant,
    b: Contestant,
    directory: Path,
    interrupts: Interrupts,
    executor: Executor,
    *,
    pairs: int = PAIRS,
    within_s: float | None = None,
    seed: int = 1,
    change: Change | None = None,
    announce: Callable[[Turn], None] = lambda turn: None,
    include_invalid: bool = False,
    enough: Callable[[PairedRuns], bool] | None = None,
) -> PairedRuns:
    """Runs into the new `directory`: a/01, b/01, a/02 ... Finished runs stay whatever happens. `change` None: A and B alternate
    after every window if that is possible. `include_invalid`: runs with rejected metrics are not run again. `enough` is asked
    whether no more are needed, from LEAST_LOOKED_AT pairs on.

    Raises UserError for scenarios that cannot run, or if a run cannot be kept.
    """
    scenarios = [contestant.scenario() for contestant in (a, b)]
    for scenario in scenarios:
        resolve(scenario, executor.view)  # refused before there is a directory
    _check_workloads(*map(workload_names, scenarios))
    for check in part_functions("comparing", "check_sides"):
        check(*scenarios)
    planned_s = sum(map(_length_s, scenarios)) / 2
    change = change_after(scenarios, change, cabled=isinstance(executor.view, Cable))
    make_directory(directory)
    coin = random.Random(seed)
    turns = _Turns(pairs, within_s, seed, change, enough is not None)

    def begins(running: str) -> None:
        turn = turns.turn(running, planned_s)
        ANNOUNCEMENT.progress(turn.done_pairs, turn.pairs, "pairs", turn.left_s)
        announce(turn)

    width = max(2, len(str(pairs)))
    for pair in range(1, MOST_RUN * pairs + 1):
        if turns.done_pairs == pairs:
            break
        if turns.out_of_time(planned_s):
            return turns.result("time")
        order = (0, 1) if coin.random() < 0.5 else (1, 0)
        runs = [directory / side / f"{pair:0{width}}" for side in "ab"]
        pair_of_runs = Pair(scenarios, runs, order)
        for side, outcome in pair_of_runs.run(change, executor, interrupts, begins):
            run = outcome.kept_run()
            usable = outcome.verdict.valid or (include_invalid and run.rejected)
            turns.valid[side].append(run.record.where if usable else None)
            if outcome.interrupted:
                return turns.result("interrupted")
            if turns.hopeless:
                return turns.result("failed")
        if enough and _is_look(turns.done_pairs) and enough(turns.result("decided")):
            return turns.result("decided")
    return turns.result("all run" if turns.done_pairs == pairs else turns.short_of)


def _is_look(pairs: int) -> bool:
    """Whether to look after this number of pairs: all runs are read for it, so looks are rarer with more pairs."""
    return pairs >= LEAST_LOOKED_AT and pairs % (pairs // LEAST_LOOKED_AT) == 0


def _length_s(scenario: Scenario) -> float:
    return (scenario.warmup + scenario.duration) / 1e9 + START_S
