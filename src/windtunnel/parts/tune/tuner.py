"""A tuning from its options to its end: trials that have ended stay, the next ones follow from them.

tuning.json   what the tuning is (see `tuning_record`)
.seal         which user's it is (see `measure.study.seal`)
trials/       a directory for each trial: its runs, and trial.json once it has ended
aborted/      trials that did not come to their end: kept, never counted
final-NNN/    the winner, trial NNN, measured again against the file, and final.json
best.toml     the winner as a scenario
report.html   made from the files above
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import mean
from typing import Literal, Protocol

from windtunnel.engine.find import find_engine
from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError, as_argument
from windtunnel.host import facts
from windtunnel.live.process import ANNOUNCEMENT
from windtunnel.measure.execute import new_directory
from windtunnel.measure.executor import Executor, ThisHost
from windtunnel.measure.study import seal
from windtunnel.measure.study.constraints import Combination
from windtunnel.measure.study.directory import abort, keep, make_within, opened
from windtunnel.measure.study.factors import Factor
from windtunnel.parts.tune import space as spaces
from windtunnel.parts.tune import tuning_record as records
from windtunnel.parts.tune import winner
from windtunnel.parts.tune.first import Move, common_sense
from windtunnel.parts.tune.goal import Goal, check
from windtunnel.parts.tune.propose import TrialSample, suggest
from windtunnel.parts.tune.rig import Engines, Rig, Side
from windtunnel.parts.tune.space import Space
from windtunnel.parts.tune.trial import FAR, Candidate, Incumbent, Interrupted, Trial, violation
from windtunnel.parts.tune.tuning_record import TRIAL, TRIALS, TrialRecord, TuningRecord, differences, middle_of
from windtunnel.runs.files import replace
from windtunnel.scenario import HostView, Scenario, here
from windtunnel.scenario.load import located

BUDGET = 40
FAILED_TRIALS = 5
"""Failed trials in a row that end a tuning: the host is too busy, or the scenario cannot run."""
Stopped = Literal["budget", "space", "busy", "interrupted"]


class Watcher(Protocol):
    """Gets the progress of a tuning."""

    def begins(self, number: int, candidate: Candidate, counted: int, budget: int) -> None: ...

    def trial_ended(self, trial: TrialRecord, ran_now: bool) -> None:
        """`ran_now`: in this process, not in an earlier one."""

    def final_begins(self, number: int) -> None:
        """The winner, trial `number`, is measured again."""


class Silent:
    """A watcher that does nothing."""

    def begins(self, number: int, candidate: Candidate, counted: int, budget: int) -> None: ...

    def trial_ended(self, trial: TrialRecord, ran_now: bool) -> None: ...

    def final_begins(self, number: int) -> None: ...


@dataclass(frozen=True)
class Prepared:
    """A tuning that is ready to run: checked whole."""

    path: Path
    space: Space
    space_file: Path | None
    goal: Goal
    seed: int

    @property
    def scenario(self) -> Scenario:
        """The file, with what is set for every trial."""
        return self.space.plain.scenario


@dataclass
class History:
    """The trials of a tuning up to now, and what follows from them."""

    prepared: Prepared
    rig: Rig
    trials: list[TrialRecord] = field(default_factory=list)
    _remedies: dict[int, Sequence[Move]] = field(default_factory=dict)
    """Remedies for each incumbent that was diagnosed."""
    _moves: dict[int, Sequence[Move]] = field(default_factory=dict)
    """Moves of common sense for each incumbent."""

    def directory(self, number: int) -> Path:
        """Directory of a trial."""
        return self.prepared.path / TRIALS / f"{number:03}"

    @cached_property
    def file_point(self) -> tuple[Combination, bool]:
        return self.prepared.space.file_point()

    @cached_property
    def file_workers(self) -> int:
        return spaces.workers_of(self.prepared.space.plain)

    @property
    def of_file(self) -> TrialRecord | None:
        """Trial 0."""
        return next((trial for trial in self.trials if trial.number == 0), None)

    @property
    def counted(self) -> int:
        """Trials that spent budget: those that showed something, without the file's."""
        return sum(trial.number > 0 and trial.failure is None for trial in self.trials)

    @property
    def best(self) -> TrialRecord | None:
        """The last trial that was better than the one before it; None: none was, or there is no single best."""
        return next((trial for trial in reversed(self.trials) if trial.outcome == "better"), None)

    @property
    def incumbent(self) -> Incumbent:
        if (best := self.best) is not None:
            gain = best.gain if best.gain is not None else 0.0
            return Incumbent(best.number, tuple(best.sets), best.meets, best.workers, gain)
        file = self.of_file
        return Incumbent(meets=file is None or file.meets, workers=self.file_workers)

    @property
    def incumbent_point(self) -> Combination:
        best = self.best
        return tuple(best.point) if best and best.point is not None else self.file_point[0]

    @property
    def tried(self) -> set[Combination]:
        """Points that are finished. An invalid one gets a second trial: the host may have been busy."""
        own = {self.file_point[0]} if self.file_point[1] else set()
        points = [(tuple(trial.point), trial.failure) for trial in self.trials if trial.point is not None]
        return own | {point for point, failure in points if failure != "invalid" or points.count((point, failure)) > 1}

    def next(self) -> Candidate | None:
        """The next candidate; None if the space has no point left that could be better."""
        prepared, space = self.prepared, self.prepared.space
        tried = self.tried
        most = self.incumbent.workers if prepared.goal.objective == "cores" and self.incumbent.meets else None

        def worth(point: Combination) -> bool:
            if point in tried or space.refused(point) is not None:
                return False
            return most is None or space.workers(point) < most

        near = self.incumbent_point
        if not self.file_point[1] and worth(self.file_point[0]):
            return self._candidate(self.file_point[0], "the point of the space that is nearest to the file", None)
        for move in self.remedies():
            if (point := space.at(near, move.changes)) is not None and worth(point):
                return self._candidate(point, move.why, None)
        for n, move in list(enumerate(self.moves()))[self._next_move :]:
            if (point := space.at(near, move.changes)) is not None and worth(point):
                return self._candidate(point, move.why, n)
        number = self.trials[-1].number + 1 if self.trials else 1
        point = suggest(space, self.samples(), worth, near, prepared.seed * 100_003 + number, self.objectives)
        return None if point is None else self._candidate(point, "the model of the trials so far", None)

    def remedies(self) -> Sequence[Move]:
        """Remedies from a diagnosis of the incumbent's first run that counts; none as long as there is no such run."""
        number = self.incumbent.number
        side: Side = "candidate" if number else "incumbent"
        if number not in self._remedies:
            trials = [trial for trial in self.trials if (trial.number if number else trial.incumbent) == number]
            runs = [(t.number, n) for t in trials for n, pair in enumerate(t.pairs, start=1) if pair.excluded is None]
            if not runs:
                return ()
            trial, pair = runs[0]
            self._remedies[number] = self.rig.remedies(self.directory(trial), side, pair)
        return self._remedies[number]

    def moves(self) -> Sequence[Move]:
        """Moves that common sense suggests for the incumbent."""
        incumbent = self.incumbent
        if incumbent.number not in self._moves:
            self._moves[incumbent.number] = common_sense(self.prepared.space.scenario(incumbent.sets))
        return self._moves[incumbent.number]

    @property
    def _next_move(self) -> int:
        """The first move that is not finished: the last one is made again if it was better, or showed nothing."""
        last = next((trial for trial in reversed(self.trials) if trial.move is not None), None)
        if last is None or last.move is None:
            return 0
        return last.move + (last.outcome != "better" and last.failure != "invalid")

    @property
    def objectives(self) -> int:
        return 2 if self.prepared.goal.objective == "pareto" else 1

    def samples(self) -> list[TrialSample]:
        """The samples for the model of the trials: trials that show something about their settings, and the file if it is a point of the space."""
        goal = self.prepared.goal
        limit = goal.slo.limit_ns if goal.slo else None
        informative = [
            trial for trial in self.trials if trial.failure != "invalid" and (trial.number or self.file_point[1])
        ]
        if self.of_file is None and self.file_point[1] and goal.objective == "throughput":
            samples = [TrialSample(self.file_point[0], (0.0,))]
        else:
            samples = []
        worst = min((trial.gain for trial in informative if trial.gain is not None), default=0.0)
        for trial in informative:
            over = FAR if trial.failure else violation(trial.latency, limit)
            values = values_of(trial, goal, worst, over)
            point = tuple(trial.point) if trial.point is not None else self.file_point[0]
            if values is not None:
                samples.append(TrialSample(point, values, over))
        return samples

    def _candidate(self, point: Combination, why: str, move: int | None) -> Candidate:
        space = self.prepared.space
        return Candidate(point, space.sets(point), space.changes(point), why, move, space.workers(point))


def values_of(trial: TrialRecord, goal: Goal, worst: float, over: float | None) -> tuple[float, ...] | None:
    """The values to be maximised; None if the trial did not measure them. `worst`: of all gains, for a trial that failed, or missed the SLO
    before its throughput was compared; `over`: by how much."""
    if goal.objective == "cores":
        return (-trial.workers - 0.1 * max(-1.0, min(1.0, over or 0.0)),)
    if goal.objective == "throughput":
        return (worst if trial.gain is None else trial.gain,)
    if trial.gain is None:
        return None
    if goal.latency is None:
        return trial.gain, float(-trial.workers)
    latency = middle_of(trial.latency) if trial.latency else None
    return None if latency is None else (trial.gain, -math.log(latency))


def front(trials: Sequence[TrialRecord], goal: Goal) -> list[TrialRecord]:
    """Trials of a Pareto search that no other beats in one objective without losing in the other, from the highest throughput down."""
    valued = [
        (values, t) for t in trials if t.failure is None and (values := values_of(t, goal, 0.0, None)) is not None
    ]
    best = [
        (values, t)
        for values, t in valued
        if not any(other != values and all(x >= y for x, y in zip(other, values, strict=True)) for other, _ in valued)
    ]
    return [t for _, t in sorted(best, key=lambda item: item[0], reverse=True)]


@dataclass(frozen=True)
class Tuned:
    """A tuning's directory in memory."""

    path: Path
    record: TuningRecord
    trials: list[TrialRecord]
    best: TrialRecord | None
    """The winner among the trials; None: none was better than the file."""
    final: records.FinalRecord | None
    """The winner, measured again; None: not measured."""
    file_workers: int
    stopped: Stopped
    factors: tuple[Factor, ...]
    samples: list[TrialSample]
    """The samples that the model of the trials gets."""
    of_file_failed: list[TrialRecord] = field(default_factory=list)
    """Trials of the file itself, in this process: each is made again, because nothing follows without it."""

    @property
    def counted(self) -> int:
        return sum(trial.number > 0 and trial.failure is None for trial in self.trials)

    @property
    def failed(self) -> list[TrialRecord]:
        return [trial for trial in self.trials if trial.failure is not None]

    @property
    def front(self) -> list[TrialRecord]:
        return front(self.trials, self.record.goal) if self.record.objective == "pareto" else []

    @property
    def best_file(self) -> Path | None:
        """best.toml, if the winner was confirmed."""
        return self.path / winner.NAME if self.final is not None and self.final.confirmed else None

    @property
    def met(self) -> bool:
        """Whether the goal was met: there is a winner that was confirmed, or the file itself is the best, or a front."""
        if self.best is not None:
            return self.best_file is not None
        file = next((trial for trial in self.trials if trial.number == 0), None)
        return file.meets if file is not None else self.counted > 0


def prepare(
    file: Path,
    sets: Sequence[str],
    goal: Goal,
    *,
    space_file: Path | None = None,
    out: Path | None = None,
    seed: int = 1,
    host: HostView | None = None,
    from_elsewhere: bool = False,
) -> Prepared:
    """A tuning, checked. `from_elsewhere`: the user agrees to continue what another user began; else it raises BegunElsewhere. Raises UserError
    for whatever is wrong with the scenario, the space or the goal."""
    file, view = located(file), host or here()
    if space_file is not None:
        space = spaces.from_file(file, space_file, sets, view)
    else:
        space = spaces.default(file, sets, view)
    check(goal, space.plain.scenario)
    path = out or new_directory(f"{file.stem}-tuning")
    if (path / records.NAME).is_file() and not from_elsewhere and not seal.is_own(path, records.NAME):
        records.read(path)  # a file that is not a record is reported first
        raise seal.BegunElsewhere(
            f"{path}: not begun by you: its trials, and the results that they claim, decide what is tried next and what is the best",
            remedy="the same command with --from-elsewhere, or another --out",
        )
    return Prepared(path, space, space_file, goal, seed)


def run(
    prepared: Prepared,
    interrupts: Interrupts,
    watcher: Watcher,
    budget: int = BUDGET,
    rig: Rig | None = None,
    executor: Executor | None = None,
) -> Tuned:
    """Runs what is missing of the budget, and measures the winner again. `executor`: of the runs; None: this host. Raises UserError if
    the directory is another's, if the tuning is not the one that began there, or if something cannot be kept."""
    find_engine()
    path, executor = prepared.path, executor or ThisHost()
    with opened(path, records.NAME, "tuning"):
        kept = _record(prepared, executor.host)
        make_within(path, TRIALS)
        _set_aside(path)
        rig = rig or Engines(prepared.space, executor, interrupts, prepared.seed)
        history = History(prepared, rig, _trials(prepared))
        for trial in history.trials:
            watcher.trial_ended(trial, False)
        conductor = _Conductor(prepared, history, rig, watcher, interrupts, budget)
        final = None
        try:
            stopped = conductor.run()
            if history.best is not None and stopped != "busy":
                final = winner.confirm(path, prepared.space, prepared.goal, history.best, rig, watcher.final_begins)
        except Interrupted:
            stopped = "interrupted"
    return Tuned(
        path,
        kept,
        history.trials,
        history.best,
        final,
        history.file_workers,
        stopped,
        prepared.space.factors,
        history.samples(),
        conductor.of_file_failed,
    )


@dataclass
class _Conductor:
    """A tuning that runs. Raises Interrupted."""

    prepared: Prepared
    history: History
    rig: Rig
    watcher: Watcher
    interrupts: Interrupts
    budget: int
    failed: int = 0
    """Failed trials in a row, in this process: the host may be quieter when a user continues."""
    of_file_failed: list[TrialRecord] = field(default_factory=list)

    def run(self) -> Stopped:
        goal = self.prepared.goal
        while (goal.latency or goal.objective == "pareto") and self.history.of_file is None:
            point, exact = self.history.file_point
            why = "what the others are compared with"
            self._try(Candidate(point if exact else None, (), "the file", why, None, self.history.file_workers), 0)
            if self.failed == FAILED_TRIALS:
                return "busy"
        while self.history.counted < self.budget:
            self.prepared.space.check_unchanged()
            candidate = self.history.next()
            if candidate is None:
                return "space"
            self._try(candidate, self.history.trials[-1].number + 1 if self.history.trials else 1)
            if self.failed == FAILED_TRIALS:
                return "busy"
        return "budget"

    def _left_s(self) -> float | None:
        """Time left, by the trials so far, without the winner's last measurement; None before the first trial."""
        lasted = [trial.seconds for trial in self.history.trials]
        return mean(lasted) * (self.budget - self.history.counted) if lasted else None

    def _try(self, candidate: Candidate, number: int) -> None:
        if self.interrupts.count:
            raise Interrupted
        history, path = self.history, self.prepared.path
        ANNOUNCEMENT.progress(history.counted, self.budget, "trials", self._left_s())
        self.watcher.begins(number, candidate, history.counted, self.budget)
        incumbent = Incumbent(workers=history.file_workers) if history.objectives > 1 else history.incumbent
        directory = history.directory(number)
        directory.mkdir()
        earlier = [differences(trial.pairs) for trial in history.trials]
        trial = Trial(number, candidate, incumbent, self.prepared.goal, self.rig, directory, earlier).run()
        self.failed = self.failed + 1 if trial.failure is not None else 0
        if number == 0 and trial.failure is not None:
            abort(path, directory)
            self.of_file_failed.append(trial)
            if trial.failure == "refused":  # a further trial would be refused as well
                file = self.prepared.scenario.source.file
                raise UserError(
                    f"{file}: refused as it is: {'; '.join(trial.reasons)}", f"windtunnel run {as_argument(file)}"
                )
        else:
            replace(directory / TRIAL, trial.model_dump_json(indent=1) + "\n")
            history.trials.append(trial)
        self.watcher.trial_ended(trial, True)


def _record(prepared: Prepared, host: facts.Facts) -> TuningRecord:
    """The record in tuning.json. It is written when the tuning begins and compared when it continues, which makes it this user's."""
    path = prepared.path
    now = records.record_of(prepared.space, prepared.space_file, prepared.goal, prepared.seed, host)
    if not (path / records.NAME).exists():
        keep(path, now, records.NAME)
        return now
    then = records.read(path)
    records.check_same(path, then, now)
    if not seal.is_own(path, records.NAME):
        then = then.model_copy(update={"scenario": now.scenario, "space": now.space})
        keep(path, then, records.NAME)
    return then


def _trials(prepared: Prepared) -> list[TrialRecord]:
    """The trials that have ended. Raises UserError for one whose settings the space does not have: its author may have meant to run a plug-in."""
    space, trials = prepared.space, records.trials(prepared.path)
    for trial in trials:
        point = trial.point and tuple(trial.point)
        if (point and not space.has(point)) or tuple(trial.sets) != (space.sets(point) if point else ()):
            raise UserError(
                f"{prepared.path}: trial {trial.number} has settings that the space does not have at its point",
                remedy="begin again with another --out",
            )
    return trials


def _set_aside(path: Path) -> None:
    """Moves trials that were cut short to aborted/."""
    for directory in sorted((path / TRIALS).iterdir()):
        if not (directory / TRIAL).exists():
            abort(path, directory)
