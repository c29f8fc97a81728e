"""How much of a study's time is not run? A study of 100 points, and where the rest of its time goes.

scenarios/echo.toml over ten budgets and ten batch sizes, once each, as `windtunnel study` runs it, from the start of the command to its
end: imports, checks, table and report included. Run is what the engines' windows cover, warm-up and measured; all else is outside. Not
part of bench/all: with the scenario's own 3 s and 500 ms it takes seven minutes. Quick look: --points 10 --seconds 0.5.
"""

import argparse
import itertools
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

from harness.engine_run import COMMAND
from harness.main import finish_in_directory
from harness.noise import MOST_LOST
from harness.results import Result
from harness.statistics import Goal, Spread, extent, interval, judge

from windtunnel.engine.windows import Window
from windtunnel.errors import UserError
from windtunnel.runs import Run, load
from windtunnel.runs.metrics import measured

SCENARIO = Path(__file__).resolve().parents[1] / "scenarios" / "echo.toml"
STUDY = """\
scenario = "{scenario}"
repeats = 1
retries = 0
{constraint}
[set]
{durations}
[[factor]]
key = "client.inflight"
log = {{ from = 128, to = 8192, points = 10 }}
[[factor]]
name = "batch"
key = "server.batch.app_rx"
values = [2, 4, 8, 12, 16, 24, 32, 48, 64, 128]
"""
GOAL = Goal(10.0, "at most", least_samples=1)
PHASES = {
    "starting EAL": "EAL",
    "opening mbuf pools": "mbuf pools",
    "opening ports": "ports, handlers, what the accounting costs",
    "running": "from the workers' start to the first window",
}
"""Phase that begins a part -> the part."""


def main() -> None:
    given = _options()
    finish_in_directory(lambda directory: _measure(directory, given.points, given.seconds))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, choices=range(1, 101), default=100, metavar="1..100", help="of the study")
    parser.add_argument("--seconds", type=float, help="measured time of a run; without it the scenario's own")
    return parser.parse_args()


def _measure(directory: Path, points: int, seconds: float | None) -> list[Result]:
    out, began = directory / "out", datetime.now(UTC)
    start = time.monotonic()
    done = subprocess.run(
        [COMMAND, "study", _written(directory, points, seconds), "--out", out, "--quiet"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    whole_s = time.monotonic() - start
    if done.returncode not in (0, 1):
        raise UserError(f"the study did not run: {done.stdout.strip()}")
    runs = sorted((load(path) for path in (out / "runs").iterdir()), key=lambda run: run.record.started)
    if unfinished := [run.path.name for run in runs if run.record.engines[0].result is None]:
        raise UserError(f"{unfinished[0]} came to no result: {done.stdout.strip()}")
    return _results(runs, began, whole_s)


def _written(directory: Path, points: int, seconds: float | None) -> Path:
    """The study file; fewer points are the first ones of the hundred."""
    durations = (
        ""
        if seconds is None
        else f'duration = "{round(seconds * 1000)}ms"\nwindow = "{min(500, round(seconds * 500))}ms"'
    )
    lines = -(-points // 10)
    constraint = "" if points == 100 else f'constraints = ["inflight <= {round(128 * 64 ** ((lines - 1) / 9)) + 1}"]'
    file = directory / "study.toml"
    file.write_text(STUDY.format(scenario=SCENARIO, durations=durations, constraint=constraint))
    return file


def _results(runs: list[Run], began: datetime, whole_s: float) -> list[Result]:
    memory = runs[0].record.memory
    run_s = sum(map(_run_s, runs))
    outside = extent([100 * (1 - run_s / whole_s)])
    parts = [_parts(run) for run in runs]
    gaps = [(b.record.started - a.record.finished).total_seconds() for a, b in itertools.pairwise(runs)]
    ends = [(runs[0].record.started - began).total_seconds()]
    ends.append(whole_s - (runs[-1].record.finished - began).total_seconds())
    share = Result(
        f"time of a study of {len(runs)} points outside its windows",
        memory,
        outside,
        "%",
        f"{whole_s:.1f} s in all, {run_s:.1f} s run",
        goal=GOAL,
        verdict=judge(outside, GOAL, _busy_host(runs) if outside.high > GOAL.limit else None),  # a busy host only adds
        details={"whole_s": whole_s, "run_s": run_s, "parts_s": parts, "gaps_s": gaps, "ends_s": ends},
    )
    shown = [_part(name, memory, interval([1000 * part[name] for part in parts]), "ms a run") for name in parts[0]]
    if gaps:
        shown.append(
            _part("between two runs: rows, the next plan", memory, interval([1000 * gap for gap in gaps]), "ms")
        )
    shown.append(_part("before the first run: imports, checks", memory, extent([ends[0]]), "s, once"))
    shown.append(_part("after the last: table, report", memory, extent([ends[1]]), "s, once"))
    return [share, *shown]


def _part(name: str, memory: str, spread: Spread, unit: str) -> Result:
    return Result(name, memory, spread, unit)


def _run_s(run: Run) -> float:
    return sum(window.end_ns - window.start_ns for window in _windows(run)) / 1e9


def _windows(run: Run) -> list[Window]:
    """Warm-up and measured ones."""
    return measured(run.windows[run.record.engines[0].name], ("warmup", "measure"))


def _busy_host(runs: list[Run]) -> str | None:
    """Why the host was too busy: workers were preempted, so start-up and shutdown took longer too."""
    workers = [
        (w.preempted_ns, window.end_ns - window.start_ns)
        for run in runs
        for window in _windows(run)
        for w in window.workers
    ]
    lost = sum(delay or 0 for delay, _ in workers) / sum(length for _, length in workers)
    return f"the host took {lost:.0%} of the cores' time" if lost > MOST_LOST else None


def _parts(run: Run) -> dict[str, float]:
    """Where a run's time outside its windows goes, s."""
    engine = run.record.engines[0]
    windows = _windows(run)
    begins = {PHASES[phase.name]: phase.at_ns for phase in engine.phases if phase.name in PHASES}
    marks = [*begins.items(), ("", windows[0].start_ns)]
    parts = {name: (later - at) / 1e9 for (name, at), (_, later) in itertools.pairwise(marks)}
    parts["drain, ledgers, result"] = (engine.result.at_ns - windows[-1].end_ns) / 1e9
    whole_s = (run.record.finished - run.record.started).total_seconds()
    return parts | {"start and end of the process, run directory": whole_s - engine.result.at_ns / 1e9}


if __name__ == "__main__":
    main()
