"""kill -9, at moments that nobody chose: of either engine, and of the Python process that started them."""

import json
import os
import random
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import forked
import pytest
from fake_runs import gone, has_ended
from hostile_run import COMMAND
from processes import children
from real_runs import run_well, scenario
from scenario_tools import SHIPPED

from windtunnel.engine import leftovers
from windtunnel.engine.leftovers import runtime_directory
from windtunnel.engine.windows import Window
from windtunnel.runs import load
from windtunnel.runs.record import DID_NOT_FINISH, Record

WARMUP_S, DURATION_S, WINDOW_S = 0.3, 1.2, 0.1
PATIENCE_S = 5.0
LATEST_S = 3.5
"""When a command that has to import itself, and its run, are about to end."""
NEVER_ENDS_S = 60
"""A run that lasts so long is killed before its end, however late a busy host lets us."""
HOLD_S = 1.0
"""How long an end of a memif that has lost its parent holds its port: orphan_hold_ns of the engine."""
REASONS = ("peer lost: ", "engine died: SIGSEGV after peer loss")


def lasting(duration_s: float) -> list[str]:
    """The changes of a shipped scenario with which it takes so long, and its windows are short."""
    seconds = {"warmup": WARMUP_S, "duration": duration_s, "window": WINDOW_S, "drain": 0.2}
    return [word for key, value in seconds.items() for word in ("--set", f"{key}={round(value * 1000)}ms")]


@dataclass
class Aloft:
    """A run of two engines in a process group of its own."""

    out: Path
    parent: subprocess.Popen
    record: Record

    @property
    def engines(self) -> dict[str, int]:
        return {engine.name: engine.hello.pid for engine in self.record.engines if engine.hello}

    def left_over(self) -> list[Path]:
        """Runtime directories and sockets of the engines that are still there."""
        plans = [engine.plan for engine in self.record.engines]
        directories = [runtime_directory() / "dpdk" / plan.eal.file_prefix for plan in plans]
        options = [endpoint.port.options for plan in plans for endpoint in plan.endpoints]
        sockets = [Path(named["socket"]) for named in options if "socket" in named]
        return [path for path in (*directories, *sockets) if path.exists()]


@contextmanager
def aloft(out: Path, scenario: str, until, duration_s: float = DURATION_S) -> Iterator[Aloft]:
    """Runs a shipped scenario; enters once `until` is true of its record, and leaves no process behind."""
    words = ["run", str(SHIPPED / scenario), "--quiet", "--no-report", "--out", str(out)]
    words += lasting(duration_s)
    parent = forked.Command(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    spec = None
    try:
        spec = Aloft(out, parent, wait_for_record(out / "run.json", parent, until))
        yield spec
    finally:
        parent.kill()
        parent.communicate()
        for pid in spec.engines.values() if spec else ():
            assert gone(pid)


def wait_for_record(file: Path, parent: subprocess.Popen, until) -> Record:
    for _ in range(3000):
        if file.exists() and until(record := Record.model_validate_json(file.read_text())):
            return record
        if parent.poll() is not None:
            break
        threading.Event().wait(0.01)
    raise AssertionError(f"it never came so far: {parent.stdout.read() if parent.poll() is not None else 'it waits'}")


def all_ready(record: Record) -> bool:
    return all(engine.ready for engine in record.engines)


def measures(out: Path) -> bool:
    """Whether a measured window is written within 5 s."""
    for _ in range(500):
        if '"phase":"measure"' in (out / "windows.jsonl").read_text().replace(" ", ""):
            return True
        threading.Event().wait(0.01)
    return False


def whole_windows(out: Path) -> list[dict]:
    """Every line of windows.jsonl: each one must be whole."""
    *lines, rest = (out / "windows.jsonl").read_text().split("\n")
    assert rest == ""
    windows = [json.loads(line) for line in lines]
    for window in windows:
        Window.model_validate({key: value for key, value in window.items() if key != "engine"})
    return windows


@pytest.mark.parametrize("victim", ["server", "client"])
@pytest.mark.parametrize("trial", [0, *(pytest.param(n, marks=pytest.mark.long("kills")) for n in range(1, 25))])
def test_killed_engine(tmp_path, victim, trial):
    survivor = {"server": "client", "client": "server"}[victim]
    seed = random.SystemRandom().randrange(1 << 32)
    after_s = random.Random(seed).uniform(0, WARMUP_S + DURATION_S - 3 * WINDOW_S)
    print(f"seed {seed}: the {victim} is killed {after_s:.3f} s after both were ready")
    with aloft(tmp_path / "run", "two-processes.toml", all_ready, NEVER_ENDS_S) as spec:
        threading.Event().wait(after_s)
        before = (spec.out / "windows.jsonl").read_text().split("\n")[:-1]
        os.kill(spec.engines[victim], signal.SIGKILL)
        assert gone(spec.engines[survivor]), "the survivor still runs 5 s later"
        assert spec.parent.wait(PATIENCE_S) == 1
        assert spec.left_over() == []
    run = load(spec.out)
    assert run.problems == []
    assert len(whole_windows(spec.out)) == sum(map(len, run.windows.values()))
    assert (spec.out / "windows.jsonl").read_text().split("\n")[: len(before)] == before
    assert not run.record.verdict.valid and run.record.finished
    assert any(r.startswith("engine died: SIGKILL") and r.endswith(f"[{victim}]") for r in run.record.verdict.reasons)
    assert any(r.startswith(REASONS) and r.endswith(f"[{survivor}]") for r in run.record.verdict.reasons)


@pytest.mark.parametrize("scenario", ["echo.toml", "two-processes.toml"])
@pytest.mark.parametrize("moment", ["before the hello", "after the hello", "in flight"])
def test_killed_parent(tmp_path, scenario, moment):
    until = {
        "before the hello": lambda record: all(engine.phases for engine in record.engines),
        "after the hello": lambda record: all(engine.hello for engine in record.engines),
        "in flight": all_ready,
    }[moment]
    with aloft(tmp_path / "run", scenario, until) as spec:
        if moment == "in flight":
            assert measures(spec.out), "no window was measured within 5 s"
        before = children(spec.parent.pid)
        assert len(before) == len(spec.record.engines)
        spec.parent.kill()
        spec.parent.wait()
        assert all(gone(pid) for pid in before), "an engine outlived its parent by 5 s"
        assert spec.left_over() == []
    run = load(spec.out)
    assert run.record.verdict.reasons == [DID_NOT_FINISH]
    assert run.record.finished is None
    if moment == "in flight":
        assert any(window["phase"] == "measure" for window in whole_windows(spec.out))


def test_killed_parent_of_an_engine_that_ends_late(tmp_path):
    """One end of a memif sees the loss of its parent 300 ms after the other: the other still holds the memory that it polls."""
    with aloft(tmp_path / "run", "two-processes.toml", all_ready) as spec:
        threading.Event().wait(WARMUP_S)
        late, other = spec.engines["client"], spec.engines["server"]
        os.kill(late, signal.SIGSTOP)
        try:
            killed = time.monotonic()
            spec.parent.kill()
            spec.parent.wait()
            threading.Event().wait(0.3)
            holds = not has_ended(other)
            assert holds or time.monotonic() - killed > HOLD_S, "it gave its memory up at once"
        finally:
            os.kill(late, signal.SIGCONT)
        assert all(gone(pid) for pid in spec.engines.values())
        assert spec.left_over() == [], "a crash left its runtime directory"


def test_an_engine_that_ends_by_itself_has_ended_eal(tmp_path, monkeypatch):
    """Its socket for other processes goes with it. Files of memory stay: DPDK 22.11 unlinks none, the supervisor does."""
    monkeypatch.setattr(leftovers, "remove", lambda plan: None)
    run = run_well(tmp_path, scenario())
    prefix = run.record.engines[0].plan.eal.file_prefix
    left = [file.name for file in (runtime_directory() / "dpdk" / prefix).glob("*")]
    leftovers.remove_files(prefix)
    assert "mp_socket" not in left


@pytest.fixture
def own_directories(monkeypatch) -> Iterator[list[Path]]:
    """Runtime directories and sockets of this test alone: the paths are short, because a socket's has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="wtk-", dir="/tmp") as directory:
        paths = []
        for variable in ("RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR"):
            paths.append(Path(directory, variable[0]))
            paths[-1].mkdir(mode=0o700)
            monkeypatch.setenv(variable, str(paths[-1]))
        yield paths


def processes_of(directory: Path) -> list[int]:
    """Whoever has this runtime directory in its environment: command, engines and guards."""
    mark, pids = f"RUNTIME_DIRECTORY={directory}\0".encode(), []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (process / "environ").read_bytes() and not has_ended(int(process.name)):
                pids.append(int(process.name))
    return pids


@pytest.mark.parametrize(
    "rounds",
    [2, pytest.param(20, marks=pytest.mark.long("kills")), pytest.param(500, marks=pytest.mark.long("many-kills"))],
)
def test_whatever_is_killed_of_a_run_the_next_command_leaves_nothing(tmp_path, own_directories, rounds):
    """The command, one of its processes, or all of them in any order, from the first moment of a run to its end."""
    runtime, _ = own_directories
    seed = random.SystemRandom().randrange(1 << 32)
    draw = random.Random(seed)
    for number in range(rounds):
        where = f"seed {seed}, round {number}"
        scenario = SHIPPED / ("two-processes.toml", "echo.toml")[number % 2]
        words = [*COMMAND, "run", str(scenario), "--out", str(tmp_path / str(number))]
        words += lasting(DURATION_S)
        command = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        threading.Event().wait(draw.uniform(0, LATEST_S))
        alive = processes_of(runtime)
        victims = draw.sample(alive, draw.choice([min(1, len(alive)), len(alive)]))
        for pid in victims:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        command.wait(60)
        assert all(gone(pid) for pid in processes_of(runtime)), where
        for path in (path for directory in own_directories for path in directory.rglob("wt-*")):
            os.utime(path, (0, 0), follow_symlinks=False)  # who has just started is left alone for a minute
    last = [*COMMAND, "run", str(SHIPPED / "echo.toml"), "--out", str(tmp_path / "last"), "--set", "duration=10ms"]
    subprocess.run(last, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert json.loads((tmp_path / "last/run.json").read_text())["finished"], where
    left = [path for directory in own_directories for path in directory.rglob("*")]
    assert [path for path in left if not path.is_dir() or path.name.startswith("wt-")] == [], where
    assert processes_of(runtime) == []
