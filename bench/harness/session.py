"""One memory mode of one bench: what is measured, with which options, and the samples of its contestants in turns."""

import itertools
import os
import tempfile
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from harness.engine_run import SCENARIOS, EngineRun, run_scenario
from harness.noise import MOST_LOST
from harness.results import Result, console, text
from harness.sample import Contestant, Sample
from harness.statistics import Goal, interval, judge
from windtunnel.engine.plan import Plan
from windtunnel.errors import UserError
from windtunnel.host.states import Group, counts, groups
from windtunnel.scenario import here, load, resolve

WINDOW_MS = 500


TRIES = 5
"""Of a round with a run that is invalid."""

MOST_ROUNDS = 3
"""Times `--pairs`: so many rounds at the most, those that are run again included."""


@dataclass(frozen=True)
class Rounds:
    """Samples of each contestant by its name, in the order of the rounds."""

    kept: dict[str, list[Sample]]
    """Of rounds in one state of the host."""
    set_aside: dict[str, list[Sample]]
    """Of rounds in which the host took too much, or which were in another state, or in several."""
    states: str = ""
    """As in "9 pairs on one-l3, 4 on two-l3s, 2 dropped"; empty where no state is known."""


class Session(ExitStack):
    """Owns a directory for runs and captures that goes with it."""

    def __init__(self, options: Namespace, memory: str):
        super().__init__()
        self.options = options
        self.memory = memory
        self.directory = Path(self.enter_context(tempfile.TemporaryDirectory(prefix="windtunnel-bench-")))
        self._numbers = itertools.count(1)

    @property
    def seconds(self) -> float:
        return self.options.seconds

    @property
    def cpu(self) -> int:
        return self.options.cpu

    @property
    def cpus(self) -> list[int]:
        return sorted(os.sched_getaffinity(0))

    @property
    def other_cpu(self) -> int | None:
        """A CPU other than the measured one; None where there is just one."""
        return next((cpu for cpu in reversed(self.cpus) if cpu != self.cpu), None)

    def log(self, text: str) -> None:
        console().print(f"[dim]{self.memory}: {text}[/]")

    def run(
        self,
        scenario: str | Path,
        sets: Mapping[str, str] = {},
        engine: Path | None = None,
        of: str | None = None,
    ) -> EngineRun:
        """Runs a scenario of bench/scenarios (or any, by its path) for the sample's length. `of`: the engine that is
        read, where there are two."""
        directory = self.directory / f"run-{next(self._numbers)}"
        return run_scenario(SCENARIOS / scenario, self._sets(sets), directory, self.cpu, engine, of)

    def plan(self, scenario: str, sets: Mapping[str, str] = {}) -> Plan:
        """The plan of such a run: what a reference must be like."""
        (plan,) = resolve(load(SCENARIOS / scenario, self.sets(sets)), here()).plans
        return plan

    def sets(self, sets: Mapping[str, str] = {}) -> list[str]:
        """What `run` changes in a scenario, as --set has it."""
        return [f"{key}={value}" for key, value in self._sets(sets).items()]

    def in_turns(self, contestants: Mapping[str, Contestant], unit: str, scale: float = 1.0) -> Rounds:
        """A B A B: `--pairs` rounds in which each contestant has one turn; with `--together`, many turns of a few
        milliseconds, as the kernel's scheduler gives them to two that want one core."""

        def take_round() -> dict[str, Sample]:
            if not self.options.together:
                return {name: take() for name, take in contestants.items()}
            with ThreadPoolExecutor(len(contestants)) as pool:
                samples = pool.map(lambda take: take(), contestants.values())
                return dict(zip(contestants, samples, strict=True))

        return self.rounds(take_round, unit, scale)

    def rounds(self, take_round: Callable[[], dict[str, Sample]], unit: str, scale: float = 1.0) -> Rounds:
        """`--pairs` rounds in one state of the host, that most of them share, in which the host left us our core. There are up to
        MOST_ROUNDS times `--pairs` rounds in all; then those of the state that lost the least time are kept, whatever their values."""
        pairs = self.options.pairs
        taken: list[dict[str, Sample]] = []
        while len(taken) < MOST_ROUNDS * pairs and self._quiet(taken) < pairs:
            taken.append(self._round(take_round))
            values = ", ".join(f"{name} {sample.value / scale:.4g}" for name, sample in taken[-1].items())
            lost = self.lost(*taken[-1].values())
            again = " (run again)" if lost > MOST_LOST else ""
            self.log(f"round {len(taken)}: {values} {unit}; the host took {lost:.1%}{again}")
        of_state = by_state(taken)
        of_most = of_state[0].positions if of_state else []
        kept = sorted(sorted(of_most, key=lambda i: self.lost(*taken[i].values()))[:pairs])
        names = list(taken[0])
        dropped = len(taken) - sum(len(group.positions) for group in of_state)
        return Rounds(
            {name: [taken[i][name] for i in kept] for name in names},
            {name: [taken[i][name] for i in range(len(taken)) if i not in kept] for name in names},
            counts([(group.state, len(group.positions)) for group in of_state], dropped, "pairs"),
        )

    def _round(self, take_round: Callable[[], dict[str, Sample]]) -> dict[str, Sample]:
        """One round. Where a run of it is invalid the host has spoilt it: it is taken again, up to TRIES times in all."""
        for _ in range(TRIES - 1):
            try:
                return take_round()
            except UserError as error:
                self.log(f"{error.message} (run again)")
        return take_round()

    def _quiet(self, taken: Sequence[dict[str, Sample]]) -> int:
        """Rounds of the state that most of them share in which the host left us our core."""
        of_state = by_state(taken)
        return sum(self.lost(*taken[i].values()) <= MOST_LOST for i in of_state[0].positions) if of_state else 0

    def lost(self, *samples: Sample) -> float:
        """The largest share of its core's time that the host took from a sample. What two contestants that share a core take
        from each other does not count."""
        return max((s.noise.steal or 0.0) if self.options.together else s.noise.lost for s in samples)

    def _sets(self, sets: Mapping[str, str]) -> dict[str, str]:
        length = round(self.seconds * 1000)
        return {"memory": self.memory, "duration": f"{length}ms", "window": f"{min(length, WINDOW_MS)}ms", **sets}


def by_state(rounds: Sequence[dict[str, Sample]]) -> list[Group]:
    """Rounds by the state that all their samples share, as far as it is known."""
    return groups([tuple(samples.values()) for samples in rounds])


def compared(
    session: Session,
    name: str,
    rounds: Rounds,
    ours: str,
    reference: str,
    unit: str,
    scale: float = 1.0,
    goal: Goal | None = None,
    as_result: tuple[str, Callable[[float], float]] = ("x", lambda ratio: ratio),
) -> Result:
    """The result of two contestants: the median of the paired ratios ours / reference, within one state of the host. `as_result` names
    its unit and what is made of a ratio (a price in percent). Raises UserError where no round was in one state."""
    a, b = rounds.kept[ours], rounds.kept[reference]
    if not a:
        raise UserError(f"{name}: the host's state changed in every round: {rounds.states}", remedy="try again")
    result_unit, of_ratio = as_result
    spread = interval([of_ratio(x.value / y.value) for x, y in zip(a, b, strict=True)])
    return Result(
        name=name,
        memory=session.memory,
        spread=spread,
        unit=result_unit,
        ours=f"{ours}: {text(interval([x.value / scale for x in a]), unit)}",
        reference=f"{reference}: {text(interval([y.value / scale for y in b]), unit)}",
        states=rounds.states,
        goal=goal,
        verdict=judge(spread, goal, busy_host(session, [*a, *b])) if goal else None,
        samples={ours: a, reference: b},
        details={"set_aside": {name: rounds.set_aside[name] for name in (ours, reference)}},
    )


def busy_host(session: Session, samples: Sequence[Sample]) -> str | None:
    """Why the host was too busy to decide anything; None for a quiet one."""
    lost = sorted(session.lost(sample) for sample in samples)[len(samples) // 2]
    return f"the host took {lost:.0%} of the core's time" if lost > MOST_LOST else None
