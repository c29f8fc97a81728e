"""Does a run notice what others do to it?

Twelve kinds of noise at three strengths, each beside a quiet run of the same scenario in the same host state. The noise of a case
moved the rate if it is 5% or more below the quiet run's, over all windows: others make no run faster. Such a case is marked if the run is invalid, excludes
windows or warns, and says a cause of that noise. Needs stress-ng, and root for the real-time kind.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.engine_run import COMMAND, SCENARIOS
from harness.main import main
from harness.options import positive
from harness.results import Result
from harness.session import Session
from harness.statistics import Goal, Spread, judge

from windtunnel.errors import UserError
from windtunnel.runs import Run, load
from windtunnel.runs.metrics import measured, seconds

MOVED = 0.05
ECHO = SCENARIOS.parents[1] / "scenarios" / "echo.toml"
ATTEMPTS = 3
"""At a quiet run in the noisy one's state."""
LONGEST_S = 120


@dataclass(frozen=True)
class Place:
    """Where the scenario runs: `worker` has the server's stages, `other` is the next CPU."""

    worker: int
    other: int
    one_core: bool
    """Client and server share `worker`, so that `other` is free."""


Noise = Callable[[Place, int], AbstractContextManager[None]]
"""Makes noise of a strength, 0 to 2, while the context is open."""


@dataclass(frozen=True)
class Kind:
    name: str
    causes: tuple[str, ...]
    """Of which one must be said."""
    one_core: bool
    noise: Noise


@dataclass(frozen=True)
class Case:
    kind: str
    strength: int
    state: str | None
    """None: no quiet run met the noisy one's state."""
    moved: float
    """All windows of the noisy run against the quiet one's, less 1."""
    marked: bool
    shown: float | None
    """The noisy run's metric against the quiet one's, less 1; None: it is invalid."""
    words: str


def stress(*arguments: str, cpu: Callable[[Place], int] | None = None, before: tuple[str, ...] = ()) -> Noise:
    """stress-ng with "{}" replaced by the strength's value: the last argument holds three, divided by "|"."""
    *fixed, strengths = arguments
    values = strengths.split("|")

    @contextmanager
    def noise(place: Place, strength: int) -> Iterator[None]:
        words = [word.replace("{}", values[strength]) for word in fixed]
        pinned = ["taskset", "--cpu-list", str(cpu(place))] if cpu else []
        with tempfile.TemporaryDirectory() as directory:
            process = subprocess.Popen(
                [*pinned, *before, "stress-ng", "--quiet", *words],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=directory,
                start_new_session=True,
            )
            try:
                yield
                if process.poll() is not None:
                    raise UserError(f"stress-ng {' '.join(words)} ended early, with exit code {process.returncode}")
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
                process.wait()

    return noise


THEFT = "import sys, time\nbusy, every = float(sys.argv[1]), float(sys.argv[2])\nwhile True:\n    end = time.perf_counter() + busy\n    while time.perf_counter() < end: pass\n    time.sleep(every - busy)"


@contextmanager
def theft(place: Place, strength: int) -> Iterator[None]:
    """A few ms at a time: 1 of 20, 5 of 50, 20 of 200."""
    busy, every = ((1e-3, 20e-3), (5e-3, 50e-3), (20e-3, 200e-3))[strength]
    command = ["taskset", "--cpu-list", str(place.worker), sys.executable, "-c", THEFT, str(busy), str(every)]
    with _running(command):
        yield


@contextmanager
def second_run(place: Place, strength: int) -> Iterator[None]:
    """Another run: on the other CPU, on the worker's, on both."""
    cores = ((place.other,), (place.worker,), (place.other, place.worker))[strength]
    with tempfile.TemporaryDirectory() as directory:
        sets = {
            "server.cores": f"[{cores[0]}]",
            "client.cores": f"[{cores[-1]}]",
            "duration": f"{LONGEST_S}s",
            "validity.settle": "0s",
        }
        with _running([COMMAND, "run", ECHO, "--quiet", "--out", Path(directory) / "run", *_overrides(sets)]):
            yield


@contextmanager
def pauses(place: Place, strength: int) -> Iterator[None]:
    """The engine is stopped for 50, 150 or 300 ms in every second."""
    length, ended = (0.05, 0.15, 0.3)[strength], threading.Event()

    def pause() -> None:
        while not ended.wait(1 - length):
            engines = subprocess.run(
                ["pgrep", "-x", "windtunnel-engi"], check=False, capture_output=True, text=True
            ).stdout.split()
            for each in (signal.SIGSTOP, signal.SIGCONT):
                for pid in engines:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(pid), each)
                if each == signal.SIGSTOP:
                    time.sleep(length)

    thread = threading.Thread(target=pause)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def _running(command: list) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL if command[0] == "taskset" else signal.SIGINT)
        process.wait()


def worker(place: Place) -> int:
    return place.worker


def other(place: Place) -> int:
    return place.other


TAKEN = ("preempted", "steal", "lasted")
SHARED = ("sibling", "slower", "L3", "topology", "state")

KINDS = [
    Kind("hog on a worker's CPU", TAKEN, False, stress("--cpu", "1", "--cpu-load", "{}", "10|30|100", cpu=worker)),
    Kind("hog on the other CPU", SHARED, True, stress("--cpu", "1", "--cpu-load", "{}", "30|60|100", cpu=other)),
    Kind("theft of a few ms", TAKEN, False, theft),
    Kind("memory bandwidth", SHARED, True, stress("--memrate", "1", "--memrate-bytes", "256m", "--memrate-rd-mbs", "{}", "--memrate-wr-mbs", "{}", "1000|4000|100000", cpu=other)),
    Kind("cache pressure", SHARED, True, stress("--cache", "1", "--cache-level", "{}", "1|2|3", cpu=other)),
    Kind("pauses", TAKEN, False, pauses),
    Kind("a second run", (*TAKEN, *SHARED), True, second_run),
    Kind("file I/O", TAKEN, False, stress("--hdd", "{}", "--hdd-bytes", "64m", "1|2|4")),
    Kind("timer interrupts", TAKEN, False, stress("--timer", "1", "--timer-freq", "{}", "10000|100000|1000000", cpu=worker)),
    Kind("forks", TAKEN, False, stress("--fork", "{}", "1|2|4")),
    Kind("page faults", TAKEN, False, stress("--fault", "{}", "1|2|4")),
    Kind("real-time task", TAKEN, False, stress("--cpu", "1", "--cpu-load", "{}", "5|20|50", cpu=worker, before=("chrt", "--fifo", "50"))),
]  # fmt: skip


def more(parser: ArgumentParser) -> None:
    """Options that only this bench has."""
    parser.add_argument("--times", type=positive(int), default=3, help="cases of each kind and strength")


def measure(session: Session) -> list[Result]:
    if not shutil.which("stress-ng"):
        raise UserError("stress-ng is not installed", remedy="apt-get install stress-ng")
    if session.other_cpu is None:
        raise UserError("this bench needs two CPUs")
    cases, quiet = [], []
    for time_ in range(session.options.times):
        for kind in KINDS:
            for strength in range(3):
                case, twins = _case(session, kind, strength)
                cases.append(case)
                quiet += twins
                session.log(f"{time_ + 1}: {case.kind}, strength {strength + 1}: {case.moved:+.1%}, {_outcome(case)}")
    known = [case for case in cases if case.state]
    moved = [case for case in known if case.moved <= -MOVED]
    marked = sum(case.marked for case in moved)
    touched = sum(not run.record.verdict.valid or _excluded(run) for run in quiet)
    session.log(_table(known))
    details = {"cases": [asdict(case) for case in cases]}
    return [
        _counted(session, "noise that moved the rate by 5%, marked with its cause", marked, len(moved), "at least", 0.9, details),
        _counted(session, "quiet runs invalid or with excluded windows", touched, len(quiet), "at most", 0.05, {}),
        _counted(session, "cases without a quiet run in the same state", len(cases) - len(known), len(cases), None, 0, {}),
    ]  # fmt: skip


def _case(session: Session, kind: Kind, strength: int) -> tuple[Case, list[Run]]:
    """A noisy run, and quiet ones until one was in its state."""
    place = Place(session.cpu, session.other_cpu, kind.one_core)
    twins = [_run(session, place)]
    with kind.noise(place, strength):
        time.sleep(0.3)
        noisy = _run(session, place)
    while not _is_twin(twins[-1], noisy) and len(twins) < ATTEMPTS:
        twins.append(_run(session, place))
    twin = twins[-1]
    same = _is_twin(twin, noisy)
    words = _said(noisy)
    valid = noisy.record.verdict.valid
    case = Case(
        kind=kind.name,
        strength=strength,
        state=(_state(twin) or "not known") if same else None,
        moved=_rate(noisy, counted_only=False) / _rate(twin, counted_only=False) - 1,
        marked=any(cause in words for cause in kind.causes),
        shown=_rate(noisy, counted_only=True) / _rate(twin, counted_only=True) - 1 if valid else None,
        words=words,
    )
    return case, twins


def _run(session: Session, place: Place) -> Run:
    directory = session.directory / f"run-{time.monotonic_ns()}"
    client = place.worker if place.one_core else place.other
    sets = {
        "server.cores": f"[{place.worker}]",
        "client.cores": f"[{client}]",
        "duration": f"{session.seconds}s",
        "memory": session.memory,
        "validity.settle": "0s",
    }
    command = [COMMAND, "run", ECHO, "--quiet", "--no-report", "--out", directory, *_overrides(sets)]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode not in (0, 1) or not (directory / "windows.jsonl").exists():
        raise UserError(f"{ECHO.name} did not run: {done.stdout.strip()}")
    return load(directory)


def _overrides(sets: dict[str, str]) -> list[str]:
    return [part for key, value in sets.items() for part in ("--set", f"{key}={value}")]


def _rate(run: Run, counted_only: bool) -> float:
    (name,) = run.windows
    windows = measured(run.windows[name])
    validity = run.record.validity
    if counted_only and validity:
        out = {each.window for each in validity.excluded}
        windows = [window for window in windows if window.index not in out] or windows
    return sum(w.responses for window in windows for w in window.workloads) / seconds(windows)


def _state(run: Run) -> str | None:
    return run.record.validity.headline if run.record.validity else None


def _is_twin(quiet: Run, noisy: Run) -> bool:
    """Whether a run without our noise had a quiet sibling, and the topology of the noisy one."""
    ours, its = _topology(quiet), _topology(noisy)
    return not _has_busy_sibling(quiet) and (ours == its or None in (ours, its))


def _has_busy_sibling(run: Run) -> bool:
    state = run.record.validity.headline_state if run.record.validity else None
    return bool(state and "siblings" in state.words)


def _topology(run: Run) -> str | None:
    return _state(run)


def _excluded(run: Run) -> bool:
    return bool(run.record.validity and run.record.validity.excluded)


def _said(run: Run) -> str:
    """All that the run says against itself."""
    validity = run.record.validity
    words = list(run.record.verdict.reasons)
    if validity:
        words += [check.words for check in validity.checks if check.state in ("warning", "note")]
        words += [reason for each in validity.excluded for reason in each.reasons]
        words += [validity.headline_state.words] if validity.headline_state and _has_busy_sibling(run) else []
    return "; ".join(dict.fromkeys(words))


def _outcome(case: Case) -> str:
    if case.state is None:
        return "no quiet run in its state"
    if case.moved > -MOVED:
        return "harmless"
    return "marked" if case.marked else f"NOT MARKED: {case.words or 'valid, nothing said'}"


def _table(cases: list[Case]) -> str:
    """Markdown: a line for each kind."""
    lines = ["| noise | cases | moved by 5% or more | marked | largest change |", "|---|---|---|---|---|"]
    for kind in KINDS:
        of = [case for case in cases if case.kind == kind.name]
        moved = [case for case in of if case.moved <= -MOVED]
        largest = min((case.moved for case in of), default=0.0)
        lines.append(f"| {kind.name} | {len(of)} | {len(moved)} | {sum(c.marked for c in moved)} | {largest:+.0%} |")
    return "\n" + "\n".join(lines)


def _counted(
    session: Session, name: str, count: int, of: int, sense: str | None, limit: float, details: dict
) -> Result:
    share = count / of if of else 0.0
    spread = Spread(share, share, share, of, "range")
    goal = Goal(limit, sense, least_samples=1) if sense else None
    verdict = judge(spread, goal) if goal else None
    return Result(name, session.memory, spread, "", f"{count} of {of}", goal=goal, verdict=verdict, details=details)


if __name__ == "__main__":
    main(__doc__, measure, more=more)
