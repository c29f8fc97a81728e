"""Studies for tests: a scenario of a few milliseconds, study files beside it, run by the fake engine unless said otherwise."""

import json
import os
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import fake_engine
import in_process
import pytest
from fake_runs import FAKE
from scenario_tools import engine

from windtunnel.engine.history import History, SupervisedRun
from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.lines import LINE
from windtunnel.errors import UserError
from windtunnel.host.facts import collect
from windtunnel.host.levels import Readings, keep
from windtunnel.measure import execute as spec
from windtunnel.measure.executor import ThisHost
from windtunnel.measure.study import record
from windtunnel.measure.study import study as studying
from windtunnel.measure.study.conduct import Silent
from windtunnel.measure.study.study import Study, prepare
from windtunnel.scenario import HostView

SCENARIO = """\
# What does one small RPC cost, stage by stage?
title = "L-App echo"
duration = "60ms"
warmup = "20ms"
window = "20ms"

[client]
inflight = 1024

[[workload]]
handler = "l_app"
"""
ONE_FACTOR = """\
[[factor]]
key = "client.inflight"
values = [32, 64, 128]
"""
HEAD = '# How far?\nscenario = "echo.toml"\n'
COMMAND = (sys.executable, "-c", "from windtunnel.cli import main; main()")


def written(directory: Path, factors: str = ONE_FACTOR, head: str = HEAD, scenario: str = SCENARIO) -> Path:
    """A study file with its scenario beside it."""
    (directory / "echo.toml").write_text(scenario)
    file = directory / "far.toml"
    file.write_text(head + factors)
    return file


def finished(
    file: Path,
    out: Path | None = None,
    sets: tuple[str, ...] = (),
    watcher=None,
    host: HostView | None = None,
    full: bool = False,
    from_elsewhere: bool = False,
) -> Study:
    """The study as `windtunnel study FILE --out OUT` runs it, in this process."""
    with Interrupts() as interrupts:
        return studying.run(
            prepare(file, list(sets), out, host and ThisHost(host), full, from_elsewhere),
            interrupts,
            watcher or Silent(),
        )


def runs(out: Path) -> set[str]:
    """Names of the run directories that are finished; there must be no others among the runs."""
    directories = list((out / "runs").iterdir())
    for directory in directories:
        assert json.loads((directory / "run.json").read_text())["finished"], directory
    return {directory.name for directory in directories}


class PaperSupervisor:
    """Stands for `windtunnel.engine.supervisor.Supervisor`: the fake engine's lines without a process and without their time."""

    extending: ClassVar[list] = []
    """Of all that were made: what decides whether their runs go on."""

    def __init__(self, binary, log_path, listeners, interrupts, place=None, extending=None):
        self._listeners, self._interrupts = listeners, interrupts
        self.extending.append(extending)

    def run(self, plans, names) -> SupervisedRun:
        finished = SupervisedRun([])
        for plan, name in zip(plans, names, strict=True):
            history = History(name, plan)
            finished.histories.append(history)
            try:
                history.exit_code = fake_engine.run(PaperEngine(history, self._listeners))
            except (UserError, OSError) as error:
                finished.not_written = str(error)
                history.exit_code, history.killed_because = -9, "its lines could not be written"
            history.ended_at = time.monotonic()
        finished.interrupted = self._interrupts.count > 0
        return finished


class PaperEngine(fake_engine.Fake):
    """The fake engine in this process: what it writes is heard at once."""

    def __init__(self, history: History, listeners):
        self.plan = history.plan.model_dump(mode="json")
        self.sides = [endpoint["side"] for endpoint in self.plan["endpoints"]]
        self.behaviour = os.environ.get("FAKE_ENGINE", "run")
        self.start, self.changes, self.windows = time.monotonic_ns(), {}, 0
        self.turn_in = self.turn_out = None  # nobody takes turns on paper
        self._history, self._listeners = history, listeners

    def write(self, **line) -> None:
        raw = json.dumps(line)
        read = LINE.validate_json(raw)
        self._history.note(read)
        for listener in self._listeners:
            listener(self._history.name, read, raw)

    def told(self, wait_s: float) -> None:
        return None

    def check_reads(self) -> None:
        """Nothing is told on paper."""


@contextmanager
def on_paper():
    """All runs of this process are run on paper, and its disk is trusted: fsync takes 3 ms, and there are 15 a run."""
    with engine(str(FAKE)), pytest.MonkeyPatch.context() as patch:
        patch.setattr(spec, "Supervisor", PaperSupervisor)
        patch.setattr(record, "version", lambda binary: "windtunnel-engine 0.1.0, DPDK 22.11.0, build b1b1b1b1b1b1")
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


def invoke(*words, code: int = 0) -> str:
    """A command in this process, with its exit code; all that it said."""
    done = in_process.run(*words)
    assert done.exit_code == code, done.output or done.exception
    return done.output


def refused(*words) -> UserError:
    """The words with which a command refuses its input."""
    done = in_process.run(*words)
    assert isinstance(done.exception, UserError), done.output or done.exception
    return done.exception


class Heard(Silent):
    """Keeps what it is told; `behaviours` are those of the engine in the runs to come, the last one for all that follow. `variable`: what
    else of the fake engine changes from run to run, as FAKE_LINE_NS."""

    def __init__(self, monkeypatch=None, *behaviours: str, variable: str = "FAKE_ENGINE"):
        self.specs: list[tuple[str, bool, bool]] = []
        self._patch, self._behaviours, self._variable = monkeypatch, list(behaviours), variable

    def begins(self, slot):
        if self._behaviours:
            first, *rest = self._behaviours
            self._patch.setenv(self._variable, first)
            self._behaviours = rest or [first]

    def run_ended(self, slot, verdict, rows, ran_now):
        self.specs.append((slot.name, verdict.valid, ran_now))


def show_two_levels(monkeypatch, directory: Path) -> None:
    """The host has shown one L3 and two; what runs read of it is kept apart, below the directory."""
    monkeypatch.setenv("XDG_STATE_HOME", str(directory / "state"))
    known = Readings()
    known.add([91.0] * 50 + [425.0] * 50, [])
    assert keep(known, collect())
