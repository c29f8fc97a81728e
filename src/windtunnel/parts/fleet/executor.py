"""The executor of a fleet: it assigns jobs to testbeds, and repeats the jobs of lost ones."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Protocol

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.supervisor import Listener
from windtunnel.engine.verdict import INTERRUPTED, INTERRUPTED_BY_USER, Verdict
from windtunnel.errors import UserError
from windtunnel.host import facts
from windtunnel.live.process import ANNOUNCEMENT
from windtunnel.measure.execute import RunOutcome
from windtunnel.measure.executor import Begins, Done, Job, unwatched
from windtunnel.parts.fleet.hosts import other_software, unlike
from windtunnel.parts.fleet.messages import About, Ended, Event, Failed, Joined, Lost, Refused, Replied, Request
from windtunnel.parts.fleet.run_archive import sweep, take
from windtunnel.parts.fleet.utilisation import STATUS, Utilisation
from windtunnel.runs import load
from windtunnel.scenario import Cable, HostView

TICK_S = 0.2
"""Longest time that an interrupt may wait."""
MOST_LOST = 3
"""Testbeds that one job may lose; more mean that the job is at fault."""
Say = Callable[[str], None]


class Cluster(Protocol):
    """Testbeds by name. Only `events` waits."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the testbeds that may be invited."""

    def invite(self, name: str) -> None:
        """Invites a testbed. `Joined` follows when it is there, however late."""

    def dismiss(self, name: str) -> None:
        """Releases a testbed, or cancels its invitation; its job ends."""

    def start(self, name: str, request: Request) -> None:
        """Begins a job on a testbed that has joined and is free."""

    def stop(self, name: str) -> None:
        """Stops the job there; the second call kills its engine."""

    def events(self, timeout_s: float) -> list[Event]:
        """The next events, as soon as there are any. Raises UserError if the cluster itself is gone."""


class Fleet:
    """Executes jobs on testbeds that have joined. Lost ones are invited again, because they may come back."""

    def __init__(
        self, cluster: Cluster, software: dict[str, str], wait_s: float, most: int | None, spread: bool, say: Say
    ):
        """`software`: that of this host. `most`: testbeds at a time; None: all. Raises UserError if none can be used: some must join
        within `wait_s`, with this software, and alike unless `spread`."""
        self.spread = spread
        self._cluster, self._software, self._wait_s, self._say = cluster, software, wait_s, say
        self._most = most or len(cluster.names)
        self._joined: dict[str, About] = {}
        self._lost: dict[str, str] = {}
        self._places: dict[Hashable, str] = {}
        self._utilisation = Utilisation(partial(ANNOUNCEMENT.status, STATUS))
        for name in cluster.names:
            cluster.invite(name)
        self._until = monotonic() + wait_s
        self._open()
        self._first = next(iter(self._joined.values()))

    @property
    def host(self) -> facts.Facts:
        return self._first.facts

    @property
    def view(self) -> HostView | Cable:
        return self._first.view

    @property
    def testbeds(self) -> dict[str, facts.Facts]:
        return {name: about.facts for name, about in sorted(self._joined.items())}

    def keep(self, group: Hashable, testbed: str | None) -> None:
        if testbed in self._joined:
            self._places[group] = testbed

    def execute_job(self, job: Job, interrupts: Interrupts, listeners: Sequence[Listener] = ()) -> list[RunOutcome]:
        for _, outcomes in self.execute_jobs([job], interrupts):
            return outcomes
        return [_stopped() for _ in job.scenarios]

    def execute_jobs(
        self,
        jobs: Iterable[Job],
        interrupts: Interrupts,
        listeners: Sequence[Listener] = (),
        begins: Begins = unwatched,
    ) -> Iterator[Done]:
        waiting, running = list(jobs), dict[str, Job]()
        lost: Counter[Path] = Counter()
        stops_sent = 0
        sweep(directory for job in waiting for directory in job.directories)
        while running or (waiting and not interrupts.count):
            if not interrupts.count:
                self._begin(waiting, running, begins)
            self._utilisation.report(len(waiting))
            if stops_sent < interrupts.count:
                stops_sent += 1
                for name in running:
                    self._cluster.stop(name)
            for event in self._cluster.events(TICK_S):
                if isinstance(event, Joined):
                    self._join(event, strict=False)
                    continue
                job = running.pop(event.name, None)
                if job is not None and isinstance(event, Replied) and isinstance(event.reply, Ended):
                    self._utilisation.ended(event.name, len(job.directories))
                    yield job, _outcomes_of(job, event.reply)
                elif job is not None and isinstance(event, Replied) and isinstance(event.reply, Refused):
                    raise UserError(f"testbed {event.name}: {event.reply.message}", remedy=event.reply.remedy)
                else:
                    self._lose(event)
                    if job is not None:
                        lost[job.directories[0]] += 1
                        self._check_lost(job, lost[job.directories[0]])
                        waiting.insert(0, job)
            self._check_joined()
        self._utilisation.report(len(waiting))

    def _begin(self, waiting: list[Job], running: dict[str, Job], begins: Begins) -> None:
        """Starts on each free testbed the first job of a group that no other testbed has: the design determines the order of jobs."""
        for name in [name for name in self._joined if name not in running]:
            job = next((job for job in waiting if self._places.get(job.group, name) == name), None)
            if job is None:
                continue
            waiting.remove(job)
            if job.group is not None:
                self._places[job.group] = name
            running[name] = job
            begins(job)
            self._utilisation.begins(name, job)
            self._cluster.start(name, Request(name, job.scenarios, job.first, job.settle, job.labels, job.counters))

    def _open(self) -> None:
        """Waits until as many testbeds as requested have joined, or the time is over and some have. Raises UserError for a testbed that cannot
        be used, or if none joins."""
        names = set(self._cluster.names)
        while len(self._joined) < self._most and self._lost.keys() != names and monotonic() < self._until:
            for event in self._cluster.events(TICK_S):
                if isinstance(event, Joined):
                    self._join(event, strict=True)
                else:
                    self._lose(event)
        self._until = monotonic()
        self._check_joined()
        if len(self._joined) < self._most:
            self._say(f"without {self._missing()}; it may join later")

    def _check_joined(self) -> None:
        """Raises UserError if no testbed has been there for the longest time to wait."""
        if not self._joined and monotonic() >= self._until:
            raise UserError(
                f"no testbed has joined: {self._missing()}",
                remedy="what is finished is kept: go on with the same command, or wait longer: `wait` in a fleet file",
            )

    def _missing(self) -> str:
        names = [name for name in self._cluster.names if name not in self._joined]
        return "; ".join(f"{name}: {self._lost.get(name, 'in use, or its node does not respond')}" for name in names)

    def _join(self, event: Joined, strict: bool) -> None:
        """Takes a testbed in, if it can be used. Raises UserError if it cannot and `strict`."""
        name, about = event.name, event.about
        if why := self._useless(about):
            if strict:
                raise UserError(f"testbed {name}: {why[0]}", remedy=why[1])
            self._say(f"without testbed {name}: {why[0]}")
            self._cluster.dismiss(name)
            return
        if len(self._joined) >= self._most:
            self._cluster.dismiss(name)
            return
        self._joined[name] = about
        self._utilisation.joined(name)
        if self._lost.pop(name, None):
            self._say(f"testbed {name} has joined again")
        if len(self._joined) == self._most:
            for unused in set(self._cluster.names) - self._joined.keys():
                self._cluster.dismiss(unused)

    def _useless(self, about: About) -> tuple[str, str] | None:
        """Why a testbed cannot be used, and a remedy; None: it can."""
        if differs := other_software(self._software, about):
            return differs, "install the same windtunnel and the same engine on both"
        first = next(iter(self._joined.items()), None)
        if first and not self.spread and (differs := unlike(first[1], about)):
            remedy = "name testbeds that are alike in a fleet file, or say spread = true there: a study then compares within one testbed"
            return f"it is not like testbed {first[0]}: {differs}", remedy
        return None

    def _lose(self, event: Event) -> None:
        """Handles a testbed that is lost or could not join. One that had joined is invited again, and its groups go to others."""
        had_joined = self._joined.pop(event.name, None)
        self._lost[event.name] = why = event.why if isinstance(event, Lost) else _reason_text(event)
        self._places = {group: name for group, name in self._places.items() if name != event.name}
        self._cluster.dismiss(event.name)
        if had_joined:
            self._utilisation.lost(event.name, why)
            self._say(f"testbed {event.name} is lost: {why}")
            self._until = monotonic() + self._wait_s
            for name in self._cluster.names:
                if name not in self._joined:
                    self._cluster.invite(name)

    def _check_lost(self, job: Job, times: int) -> None:
        if times >= MOST_LOST:
            raise UserError(
                f"{job.directories[0]}: {times} testbeds were lost during this run: {'; '.join(self._lost.values())}",
                remedy="run it on one host, without --on, to see what it does",
            )


def _outcomes_of(job: Job, reply: Ended) -> list[RunOutcome]:
    """The outcomes of a job, with the run directories on this host. If another attempt was first, its run counts."""
    take(reply.packed, job.directories)
    return [
        RunOutcome(load(directory), outcome.verdict, outcome.exit_code, outcome.interrupted)
        for directory, outcome in zip(job.directories, reply.outcomes, strict=True)
    ]


def _stopped() -> RunOutcome:
    """The outcome of a run that never began, because the user stopped it."""
    error = UserError(INTERRUPTED_BY_USER)
    return RunOutcome(None, Verdict(False, [INTERRUPTED_BY_USER]), INTERRUPTED, True, error)


def _reason_text(event: Event) -> str:
    reply = event.reply if isinstance(event, Replied) else None
    return reply.why if isinstance(reply, Failed) else "it has sent what nobody asked for"
