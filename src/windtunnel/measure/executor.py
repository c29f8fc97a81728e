"""Executors of runs: this host, or another host that an `Executor` finds.

A job is what one host does at a time: a run, or two that alternate by window. Whoever measures makes jobs of scenarios and gets their run
directories; an executor places the scenarios on the host on which they run.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.supervisor import Listener
from windtunnel.engine.turns import Place, Turns
from windtunnel.host import facts
from windtunnel.measure.counters import Counting
from windtunnel.measure.execute import RunOutcome, execute, no_garbage_collection
from windtunnel.scenario import Cable, HostView, RunSpec, Scenario, here, resolve

ALTERNATING = "alternated by window with another run on the same cores; parked time is not counted"


@dataclass(frozen=True)
class Job:
    """One run, or two that alternate by window."""

    scenarios: tuple[Scenario, ...]
    directories: tuple[Path, ...]
    """Directories of the runs, one a scenario. They must be new."""
    first: int = 0
    """Which of two has the first turn."""
    settle: bool = False
    """A run goes on beyond its duration until it has settled."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of each run."""
    counters: tuple[str, ...] = ()
    """Events that are counted for the workers' threads of a run that does not alternate."""
    group: Hashable = None
    """Jobs of one group have one host as long as it is there: their numbers belong together. None: of no group."""


Done = tuple[Job, list[RunOutcome]]
"""A job and its outcomes, one a scenario."""
Begins = Callable[[Job], None]


def unwatched(job: Job) -> None:
    """Takes no note of a job that begins."""


class Executor(Protocol):
    """Executes jobs. Raises UserError if a scenario cannot run, or if a directory cannot be made."""

    @property
    def host(self) -> facts.Facts:
        """The host, or one that all are like."""

    @property
    def view(self) -> HostView | Cable:
        """The host as the placement of scenarios sees it now. With a cable a run has two hosts, a side on each."""

    @property
    def testbeds(self) -> dict[str, facts.Facts]:
        """The hosts by name; empty: this one."""

    @property
    def spread(self) -> bool:
        """Whether a group is one block of a design: the hosts may be unlike, and runs of two of them are never taken together."""

    def keep(self, group: Hashable, testbed: str | None) -> None:
        """A run of this group was made there before; None: on this host."""

    def execute_job(self, job: Job, interrupts: Interrupts, listeners: Sequence[Listener] = ()) -> list[RunOutcome]:
        """Executes a job. `listeners` hear lines of the engines if these run on this host."""

    def execute_jobs(
        self,
        jobs: Iterable[Job],
        interrupts: Interrupts,
        listeners: Sequence[Listener] = (),
        begins: Begins = unwatched,
    ) -> Iterator[Done]:
        """Executes jobs that do not depend on one another, in any order, and gives each back as it ends. After the first interrupt none
        begins."""


@dataclass(frozen=True)
class ThisHost:
    """Executes one job after the other, here."""

    placement: HostView | None = None
    """None: as the host is when a job begins."""
    host: facts.Facts = field(default_factory=facts.collect)

    @property
    def testbeds(self) -> dict[str, facts.Facts]:
        return {}

    @property
    def spread(self) -> bool:
        return False

    @property
    def view(self) -> HostView:
        return self.placement or here()

    def keep(self, group: Hashable, testbed: str | None) -> None:
        """There is one host only."""

    def execute_job(self, job: Job, interrupts: Interrupts, listeners: Sequence[Listener] = ()) -> list[RunOutcome]:
        specs = [resolve(scenario, self.view) for scenario in job.scenarios]
        return perform(specs, job, interrupts, listeners, self.host)

    def execute_jobs(
        self,
        jobs: Iterable[Job],
        interrupts: Interrupts,
        listeners: Sequence[Listener] = (),
        begins: Begins = unwatched,
    ) -> Iterator[Done]:
        for job in jobs:
            if interrupts.count:
                return
            begins(job)
            yield job, self.execute_job(job, interrupts, listeners)


def perform(
    specs: Sequence[RunSpec], job: Job, interrupts: Interrupts, listeners: Sequence[Listener], host: facts.Facts
) -> list[RunOutcome]:
    """Executes a job here, whose scenarios were resolved here."""
    specs = [replace(spec, labels=dict(job.labels)) for spec in specs]
    if len(specs) == 1:
        with closing(Counting(job.counters)) as counting:
            writing = [counting.into] if job.counters else []
            run = execute(specs[0], job.directories[0], interrupts, listeners, host, settle=job.settle, writing=writing)
        return [run]
    return in_turns(specs, job.directories, job.first, interrupts, listeners, host)


def in_turns(
    specs: Sequence[RunSpec],
    directories: Sequence[Path],
    first: int,
    interrupts: Interrupts,
    listeners: Sequence[Listener],
    host: facts.Facts,
) -> list[RunOutcome]:
    """Executes two runs here that alternate by window."""

    def by_turns(side: int, place: Place) -> RunOutcome:
        spec = replace(specs[side], notes=[*specs[side].notes, ALTERNATING])
        with turns.taking(place):
            return execute(spec, directories[side], interrupts, [*listeners, place.line], host, place)

    with Turns() as turns, no_garbage_collection(), ThreadPoolExecutor(2) as pool:
        places = {first: turns.first, 1 - first: turns.second}
        running = {side: pool.submit(by_turns, side, place) for side, place in places.items()}
    return [running[side].result() for side in range(2)]
