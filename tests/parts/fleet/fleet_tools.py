"""A fleet on paper: a cluster whose testbeds are in this process, and run what a test says."""

import json
import tempfile
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace

import sample_lines as sample
from sample_runs import execute, first_windows

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.verdict import Verdict
from windtunnel.host import facts
from windtunnel.measure.executor import Job
from windtunnel.parts.fleet.executor import Fleet
from windtunnel.parts.fleet.messages import About, Ended, Joined, Lost, Outcome, Replied
from windtunnel.parts.fleet.run_archive import pack

SOFTWARE = {"windtunnel": "1", "engine": "1", "engine sha256": "e" * 64}
HOST = facts.collect()
VALID = Verdict(True, [])


def about(software=SOFTWARE, **changed) -> About:
    """`changed`: facts of the host that differ from this one's."""
    return About(HOST.model_copy(update=changed), SimpleNamespace(cpus=[0]), software)


@cache
def _files_of_a_run() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as directory:
        lines = partial(first_windows, count=1)
        run = execute(Path(directory) / "0", [sample.plan()], ["windtunnel"], lines=lines)
        return {file.name: file.read_bytes() for file in run.path.iterdir()}


def archive(name: str, testbed: str | None = None) -> bytes:
    """A valid run's directory as a testbed sends it; `name` is its title."""
    files = _files_of_a_run()
    record = json.loads(files["run.json"]) | {"title": name, "testbed": testbed}
    with tempfile.TemporaryDirectory() as directory:
        for file, content in (files | {"run.json": json.dumps(record).encode()}).items():
            Path(directory, file).write_bytes(content)
        return pack([Path(directory)])


def job(directory: Path, name: str, group=None) -> Job:
    return Job((SimpleNamespace(title=name),), (directory / name,), group=group)


class PaperCluster:
    """Executes a job as soon as it is asked for events. `mishaps`: what happens to the nth job that a testbed begins, instead of a reply."""

    def __init__(self, testbeds: dict[str, About], mishaps=(), absent=()):
        self.names = list(testbeds)
        self._abouts, self.mishaps, self.absent = testbeds, dict(mishaps), set(absent)
        self.started: list[tuple[str, str]] = []
        self.requests = []
        self.stopped: list[str] = []
        self.dismissed: list[str] = []
        self.on_events = lambda: None
        self._events, self._invited = [], set()

    def invite(self, name):
        if name not in self._invited:
            self._invited.add(name)
            if name not in self.absent:
                self._events.append(Joined(name, self._abouts[name]))

    def arrive(self, name):
        """One that was absent is there."""
        self.absent.discard(name)
        if name in self._invited:
            self._events.append(Joined(name, self._abouts[name]))

    def dismiss(self, name):
        self.dismissed.append(name)
        self._invited.discard(name)
        self._events = [event for event in self._events if event.name != name]

    def start(self, name, request):
        assert name in self._invited, f"{name} has not joined"
        title = request.scenarios[0].title
        self.started.append((name, title))
        self.requests.append(request)
        number = sum(testbed == name for testbed, _ in self.started)
        if mishap := self.mishaps.get((name, number)):
            self._events.append(mishap)
            if isinstance(mishap, Lost):
                self.absent.add(name)
            return
        reply = Ended((Outcome(VALID, 0, False),), archive(title, request.testbed))
        self._events.append(Replied(name, reply))

    def stop(self, name):
        self.stopped.append(name)

    def events(self, timeout_s):
        self.on_events()
        now, self._events = self._events, []
        return now


def fleet(cluster: PaperCluster, most=None, spread=False, said=None, wait_s=0.05) -> Fleet:
    return Fleet(cluster, SOFTWARE, wait_s, most, spread, [].append if said is None else said.append)


def executed(of: Fleet, jobs) -> dict[str, str]:
    """Name of each job -> testbed of its run."""
    with Interrupts() as interrupts:
        return {job.directories[0].name: done.run.record.testbed for job, (done,) in of.execute_jobs(jobs, interrupts)}
